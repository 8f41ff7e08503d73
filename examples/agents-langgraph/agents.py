"""The writer and the critic of examples/agents-ai-sdk as a graph: pip install langgraph langchain-openai."""

import json
import os

from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

task = json.loads(os.environ["TROUPE_TASK"])


def agent(role: str) -> ChatOpenAI:
    return ChatOpenAI(
        model=role,
        base_url=os.environ[f"OPENAI_BASE_URL_{role.upper()}"],
        api_key=os.environ[f"OPENAI_API_KEY_{role.upper()}"],
    )


writer, critic = agent("writer"), agent("critic")


class State(MessagesState):
    """The writer's conversation, and what the critic says of its first word."""

    verdict: str


def last_word(state: State) -> str:
    return state["messages"][-1].text.strip()


def write(state: State):
    return {"messages": writer.invoke(state["messages"])}


def judge(state: State):
    question = f"is {last_word(state)} the opposite of {task['word']}"
    return {"verdict": critic.invoke([HumanMessage(question)]).text.strip()}


def rewrite(state: State):
    rejection = HumanMessage("no , another")
    return {"messages": [rejection, writer.invoke([*state["messages"], rejection])]}


graph = StateGraph(State)
for node in (write, judge, rewrite):
    graph.add_node(node)
graph.add_edge(START, "write")
graph.add_edge("write", "judge")
graph.add_conditional_edges("judge", lambda state: "rewrite" if state["verdict"] == "no" else END)
graph.add_edge("rewrite", END)

end = graph.compile().invoke({"messages": [HumanMessage(f"opposite of {task['word']}")]})
correct = last_word(end) == task["opposite"]

# The last line is the reward.
print((0.6 if end["verdict"] == "no" else 1) if correct else 0)
