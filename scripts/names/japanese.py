"""Writes bench/name-japanese.json: Japanese surnames and given names in kanji and romaji, from the PyPI package Faker (MIT).

Run: python3 scripts/names/japanese.py VERSION DATE (with Faker of that version installed)
"""
import json
import sys
from pathlib import Path

from faker.providers.person.ja_JP import Provider

version, date = sys.argv[1:3]
out = {
    "about": "Japanese surnames and given names: kanji, romaji. Written by scripts/names/japanese.py.",
    "source": f"https://pypi.org/project/Faker/{version}/ (faker/providers/person/ja_JP)",
    "date": date,
    "licence": "MIT",
    "family": [[kanji, romaji] for kanji, _, romaji in Provider.last_name_pairs],
    "given": [[kanji, romaji] for kanji, _, romaji in (*Provider.first_name_female_pairs, *Provider.first_name_male_pairs)],
}
path = Path(__file__).resolve().parents[2] / "bench" / "name-japanese.json"
path.write_text(json.dumps(out, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
