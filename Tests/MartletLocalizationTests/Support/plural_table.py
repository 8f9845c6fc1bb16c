"""Writes Sources/Contract/MartletPlurals/PluralTable.swift from CLDR's JSON (unicode-org/cldr-json, cldr-core/supplemental).

    python3 Tests/MartletLocalizationTests/Support/plural_table.py ../shared/vectors/l10n > Sources/Contract/MartletPlurals/PluralTable.swift

Languages with the same rules share a line. Samples are left out: PluralRulesTests reads them from the vectors.
"""

import json
import pathlib
import sys
import textwrap

HEAD = '''// Made by Tests/MartletLocalizationTests/Support/plural_table.py from CLDR {version}; do not edit.
//
// CLDR data: copyright 1991-2025 Unicode, Inc., under the Unicode License V3 (https://www.unicode.org/license.txt), which permits use,
// copying, modification and distribution; SPDX-License-Identifier: Unicode-3.0.

/// The rules of CLDR {version}: languages, then lines of `category: condition` for each category but `other`, which every language has.
enum PluralTable {{'''


def literal(text):
    return textwrap.indent(f'"""\n{text}\n"""', " " * 12)


def table(name, rules):
    groups = {}
    for language, categories in rules.items():
        text = "\n".join(
            f"{category.rsplit('-', 1)[1]}: {rule.split('@')[0].strip()}"
            for category, rule in categories.items()
            if not category.endswith("-other")
        )
        groups.setdefault(text, []).append(language)
    lines = [f"    static let {name}: [(languages: String, rules: String)] = ["]
    for text, languages in sorted(groups.items(), key=lambda group: group[1]):
        lines += ["        (", literal(textwrap.fill(" ".join(languages), 120)) + ",", literal(text), "        ),"]
    return "\n".join(lines + ["    ]"])


def main(folder):
    cardinal, ordinal = (
        json.loads((pathlib.Path(folder) / f"cldr47-{kind}.json").read_text())["supplemental"] for kind in ("plurals", "ordinals")
    )
    print(HEAD.format(version=cardinal["version"]["_cldrVersion"]))
    print(table("cardinal", cardinal["plurals-type-cardinal"]))
    print()
    print(table("ordinal", ordinal["plurals-type-ordinal"]))
    print("}")


main(sys.argv[1])
