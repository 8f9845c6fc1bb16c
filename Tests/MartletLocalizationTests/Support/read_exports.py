# Reads a file of translations with PyPI's translate-toolkit and prints what is in it: {"id": text or list of forms, ...}.
import json
import sys

from translate.storage import aresource, csvl10n, jsonl10n, properties, stringsdict, xliff

READERS = {
    "strings": properties.stringsutf8file,
    "stringsdict": stringsdict.StringsDictFile,
    "xliff": xliff.xlifffile,
    "android": aresource.AndroidResourceFile,
    "json": jsonl10n.JsonFile,
    "csv": csvl10n.csvfile,
}

kind, path = sys.argv[1:]
store = READERS[kind]()
if kind in ("stringsdict", "android"):
    store.settargetlanguage("de")
with open(path, "rb") as file:
    store.parse(file.read())

texts = {}
for unit in store.units:
    if unit.isheader() or unit.isblank():
        continue
    name = unit.getid()
    if kind == "xliff":
        name = unit.xmlelement.get("id")
    elif kind == "android":
        name = unit.xmlelement.get("name")
    elif kind == "strings":
        name = unit.name
    # In a .strings file of one language the text is the value.
    target = unit.value if kind == "strings" else unit.target
    strings = getattr(target, "strings", None)
    texts[str(name)] = [str(form) for form in strings] if strings else str(target)
json.dump(texts, sys.stdout, ensure_ascii=False)
