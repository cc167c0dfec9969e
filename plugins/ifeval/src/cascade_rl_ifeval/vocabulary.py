"""The words of the built-in prompts: short, common, plain ASCII, no two of them nested."""

from __future__ import annotations

_WORDS = """
sun red cat fox sky tea map oil dog cow hen pig ape owl rat cup pot jar box bag
hat toy cab bus van jet web key pen paw gum jam pie egg nut fig oak elm ivy sum
bay mud fog dew pad gem zip log axe saw bow fur leg lip eye jaw rib elk toe kid
boy man mom dad son pal guy job law tax fun joy cry nap run hop dig cut fix mix
bird fish frog goat wolf lion bear deer duck swan crab moth lamb seal toad mole
rose leaf tree seed corn rice bean milk cake soup salt wine beef plum kiwi lime
rain snow wind lake hill rock sand cave moon star fire dust gold iron coal jade
boat ship bike sled cart door wall roof lamp desk sofa vase book note word page
blue pink gray dark cold warm slow fast tall kind calm wild soft loud neat huge
east west home park farm town yard path hour week year noon king duke hero maid
"""

WORDS: tuple[str, ...] = tuple(_WORDS.split())
