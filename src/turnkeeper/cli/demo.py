"""What `serve --demo` brings besides its packs: an agent that fails, for a newcomer to see what is left and why."""

from turnkeeper.errors import AgentFailed
from turnkeeper.keeper import Turnkeeper
from turnkeeper.ports.agent import AgentTurn

WEATHER_AGENT = "harbour-weather"
STATION = "harbour.weather.read"


def set_up_demo(keeper: Turnkeeper) -> None:
    @keeper.tool(STATION)
    def read_station(place: str) -> str:
        """Read the weather station of a place."""
        raise TimeoutError(f"The weather station at {place} does not answer.")

    @keeper.agent(WEATHER_AGENT)
    async def harbour_weather(turn: AgentTurn) -> str:
        """Asks the weather station at the pier, which never answers."""
        read = await turn.call(STATION, place="the pier")
        if read.status != "ok":
            raise AgentFailed("The weather station at the pier did not answer. Ask again when it is back.")
        return f"At the pier: {read.data}."
