"""A default that the pack's own rule refuses."""

from good_pack import *


class Options(BaseModel):
    largest: int = Field(default=8, ge=2)
    rounds: int = Field(default=0, ge=1)
