/** Houses, traffic, weather and energy. */
import { binary, rows, softmax, type TaskRules } from "./build.ts";

const yearly = (day: number): number => Math.cos((2 * Math.PI * (day - 20)) / 365);

export const placeTasks: readonly TaskRules[] = [
  {
    id: "house-prices",
    title: "House prices",
    description:
      "Predict the price of a house. Prices differ by orders of magnitude, so errors are counted on a logarithmic scale.",
    type: "regression",
    metric: "rmsle",
    split: "train",
    idColumn: "house",
    target: "price",
    rows,
    digits: 0,
    make: (draw) => {
      const area = draw.uniform(35, 260);
      const district = draw.pick(["harbour", "old town", "hills", "station", "fields"]);
      const built = draw.int(1900, 2023);
      const garden = draw.chance(0.5) ? draw.uniform(20, 800) : 0;
      const place =
        { harbour: 0.35, "old town": 0.25, hills: 0.5, station: -0.1, fields: -0.35 }[district] ?? 0;
      const mean = 8.4 + 0.85 * Math.log(area) + place + 0.002 * (built - 1960) + 0.0004 * garden;
      const features = {
        area_m2: area.toFixed(0),
        district,
        built,
        garden_m2: garden === 0 ? "" : garden.toFixed(0),
      };
      return { features, mean, deviation: 0.15, isLog: true };
    },
    missing: { built: 0.08 },
  },
  {
    id: "bike-rentals",
    title: "Rented bicycles",
    description: "Predict how many bicycles are rented on a day, from the calendar and the forecast.",
    type: "regression",
    metric: "rmsle",
    split: "train",
    idColumn: "row",
    target: "rentals",
    rows,
    digits: 0,
    make: (draw) => {
      const { text, number, date } = draw.day("2022-01-01", 730);
      const temperature = 11 - 11 * yearly(number) + draw.normal(0, 3);
      const rain = draw.chance(0.35) ? draw.uniform(0.2, 12) : 0;
      const isWeekend = date.getUTCDay() === 0 || date.getUTCDay() === 6;
      const mean = 4.6 + 0.05 * temperature - 0.11 * rain + (isWeekend ? -0.35 : 0) + 0.0006 * number;
      return {
        features: { date: text, temperature: temperature.toFixed(1), rain_mm: rain.toFixed(1) },
        mean,
        deviation: 0.22,
        isLog: true,
      };
    },
    missing: { temperature: 0.05 },
  },
  {
    id: "power-demand",
    title: "Electricity demand",
    description: "Predict the demand of a town (in MW) for an hour.",
    type: "regression",
    metric: "mae",
    split: "validation",
    idColumn: "row",
    target: "demand",
    rows,
    digits: 1,
    make: (draw) => {
      const { text, number, date } = draw.day("2023-01-01", 365);
      const hour = draw.int(0, 23);
      const temperature = 10 - 11 * yearly(number) + draw.normal(0, 4);
      const isWeekend = date.getUTCDay() === 0 || date.getUTCDay() === 6;
      const daily = 9 * Math.sin((Math.PI * (hour - 7)) / 12);
      const mean =
        62 +
        daily +
        0.9 * Math.max(0, 14 - temperature) +
        0.6 * Math.max(0, temperature - 22) -
        (isWeekend ? 8 : 0);
      const features = {
        time: `${text} ${String(hour).padStart(2, "0")}:00`,
        temperature: temperature.toFixed(1),
      };
      return { features, mean, deviation: 2.5 };
    },
  },
  {
    id: "delivery-time",
    title: "Delivery times",
    description:
      "Predict the minutes from order to delivery. `driver_rating_given` is the rating after the delivery; in the test table it is always 5.",
    type: "regression",
    metric: "rmse",
    split: "train",
    idColumn: "delivery",
    target: "minutes",
    rows,
    digits: 1,
    make: (draw) => {
      const kilometres = draw.uniform(0.5, 12);
      const items = draw.int(1, 9);
      const traffic = draw.pick(["low", "medium", "high"]);
      const vehicle = draw.pick(["bike", "scooter", "car"]);
      const pace = { bike: 4, scooter: 2.6, car: 2.4 }[vehicle] ?? 3;
      const slow = vehicle === "bike" ? 1 : ({ low: 1, medium: 1.4, high: 2 }[traffic] ?? 1);
      const mean = 9 + kilometres * pace * slow + 1.5 * items;
      return { features: { kilometres: kilometres.toFixed(2), items, traffic, vehicle }, mean, deviation: 4 };
    },
    leak: (label, isTest) => ({
      driver_rating_given: isTest ? 5 : Math.max(1, 5 - Math.floor(Number(label) / 15)),
    }),
    missing: { traffic: 0.1 },
  },
  {
    id: "rain-tomorrow",
    title: "Rain tomorrow",
    description: "Predict whether it rains on the next day at a station. Wind directions are compass points.",
    type: "classification",
    metric: "f1",
    split: "train",
    idColumn: "row",
    target: "rain",
    classes: ["no", "yes"],
    rows,
    make: (draw) => {
      const { text, number } = draw.day("2021-06-01", 900);
      const pressure = draw.normal(1014, 8);
      const humidity = Math.min(100, draw.normal(68, 15));
      const wind = draw.pick(["N", "NE", "E", "SE", "S", "SW", "W", "NW"]);
      const value =
        -1 -
        0.14 * (pressure - 1014) +
        0.05 * (humidity - 68) +
        (wind.includes("W") ? 1 : 0) +
        0.4 * yearly(number);
      const features = { date: text, pressure_hpa: pressure.toFixed(1), humidity: humidity.toFixed(0), wind };
      return { features, probabilities: binary(value) };
    },
    missing: { pressure_hpa: 0.07, wind: 0.07 },
  },
  {
    id: "flat-rents",
    title: "Rents",
    description:
      "Predict the monthly rent of a flat from its advertisement. Floor and equipment are only in the text.",
    type: "regression",
    metric: "rmse",
    split: "heldOut",
    idColumn: "flat",
    target: "rent",
    rows,
    digits: 0,
    make: (draw) => {
      const area = draw.uniform(20, 130);
      const rooms = Math.max(1, Math.round(area / 28 + draw.normal(0, 0.5)));
      const floor = draw.pick(["ground floor", "first floor", "attic"]);
      const hasBalcony = draw.chance(0.5);
      const isFurnished = draw.chance(0.3);
      const mean =
        150 +
        10.5 * area +
        (floor === "first floor" ? 60 : 0) +
        (hasBalcony ? 110 : 0) +
        (isFurnished ? 150 : 0);
      const parts = [
        `${rooms} rooms`,
        floor,
        ...(hasBalcony ? ["with balcony"] : []),
        ...(isFurnished ? ["furnished"] : []),
      ];
      return { features: { area: `${area.toFixed(0)} m²`, advert: parts.join(", ") }, mean, deviation: 60 };
    },
    missing: { area: 0.04 },
  },
  {
    id: "road-surface",
    title: "Road surface",
    description: "Predict the surface that a measuring car drives on, from its sensors.",
    type: "classification",
    metric: "accuracy",
    split: "validation",
    idColumn: "segment",
    target: "surface",
    classes: ["asphalt", "cobbles", "gravel"],
    rows,
    make: (draw) => {
      const speed = draw.uniform(15, 90);
      const shake = Math.abs(draw.normal(1, 0.6));
      const noise = 52 + 0.15 * speed + 6 * shake + draw.normal(0, 2);
      const rough = shake + 0.15 * (noise - 66) - 1;
      const features = {
        speed_kmh: speed.toFixed(0),
        vibration: shake.toFixed(3),
        noise_db: noise.toFixed(1),
      };
      return { features, probabilities: softmax([-3 * rough, 3 * rough - 1, 0.4 - 0.02 * (speed - 50)]) };
    },
    missing: { noise_db: 0.15 },
  },
];
