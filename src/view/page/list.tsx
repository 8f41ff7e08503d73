/** A list of which only the visible rows exist, with rows of one height. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface ListProps {
  readonly name: string;
  readonly count: number;
  /** In pixels. */
  readonly rowHeight: number;
  /** The row that keys act on. */
  readonly current: number;
  readonly row: (index: number) => preact.ComponentChildren;
  /** Its last row is near: load more. */
  readonly onEnd: () => void;
}

const spare = 8;

export const rowId = (index: number): string => `row-${index}`;

export function VirtualList({ name, count, rowHeight, current, row, onEnd }: ListProps) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  const measure = () => {
    const { scrollTop = 0, clientHeight = 800 } = box.current ?? {};
    setView({ top: scrollTop, height: clientHeight });
  };
  useLayoutEffect(() => {
    measure();
    globalThis.addEventListener("resize", measure);
    return () => globalThis.removeEventListener("resize", measure);
  }, []);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - spare);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + spare);
  useEffect(() => {
    if (last >= count - spare) onEnd();
  }, [last, count]);
  useEffect(() => {
    const { scrollTop, clientHeight } = box.current ?? { scrollTop: 0, clientHeight: 0 };
    const [top, bottom] = [current * rowHeight, (current + 1) * rowHeight];
    if (top < scrollTop) box.current?.scrollTo({ top });
    else if (bottom > scrollTop + clientHeight) box.current?.scrollTo({ top: bottom - clientHeight });
  }, [current]);
  const rows = Array.from({ length: Math.max(0, last - first) }, (_, place) => first + place);
  return (
    <div
      ref={box}
      class="list"
      role="listbox"
      aria-label={name}
      tabIndex={0}
      aria-activedescendant={rows.includes(current) ? rowId(current) : undefined}
      onScroll={measure}
    >
      <div role="presentation" class="list-all" style={{ height: `${count * rowHeight}px` }}>
        {rows.map((index) => (
          <div
            key={index}
            role="presentation"
            class="list-row"
            style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
