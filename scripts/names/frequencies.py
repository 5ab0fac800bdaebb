"""Writes data/names/frequencies.json: how often given names and surnames occur in some countries.

The source is the PyPI package Faker (MIT), whose providers for these countries carry the frequencies that statistics offices publish.
Run: python3 scripts/names/frequencies.py VERSION DATE (with Faker of that version installed)
"""
import importlib
import json
import sys
import unicodedata
from pathlib import Path

LOCALES = ["en_US", "en_KE", "en_NZ", "es_AR", "es_CL", "es_CO", "fi_FI", "nl_BE", "hu_HU", "sv_SE"]
# Countries of which the package knows the frequencies of surnames only.
SURNAMES = ["zh_CN", "ko_KR"]
KEPT = 400


def shares(weights: dict[str, float]) -> dict[str, int]:
    """Returns the most frequent names with their share of the list in hundred-thousandths."""
    total = sum(weights.values())
    top = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:KEPT]
    return {unicodedata.normalize("NFC", name): max(1, round(100_000 * weight / total)) for name, weight in top}


def counted(provider: type, field: str) -> dict[str, float]:
    value = getattr(provider, field)
    return dict(value) if hasattr(value, "items") else {name: 1.0 for name in value}


def main() -> None:
    version, date = sys.argv[1:3]
    countries = {}
    for locale in LOCALES:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        given: dict[str, float] = {}
        for field in ("first_names_female", "first_names_male"):
            for name, weight in counted(provider, field).items():
                given[name] = given.get(name, 0.0) + weight
        countries[locale[3:]] = {"given": shares(given), "family": shares(counted(provider, "last_names"))}
    for locale in SURNAMES:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        countries[locale[3:]] = {"given": {}, "family": shares(counted(provider, "last_names"))}
    out = {
        "about": "Shares (hundred-thousandths of the list) of frequent given names and surnames by country, "
        "at most 400 of each. Written by scripts/names/frequencies.py.",
        "source": f"https://pypi.org/project/Faker/{version}/",
        "date": date,
        "licence": "MIT",
        "countries": countries,
    }
    path = Path(__file__).resolve().parents[2] / "data" / "names" / "frequencies.json"
    path.write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


main()
