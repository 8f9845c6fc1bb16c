// The properties of a screen or an element, each with the field that its type in the catalogue asks for.

import { Badge, Button } from "../system/basics";
import { Select } from "../system/form";
import { own } from "../system/own";
import { t } from "../text";
import { Catalogue, Colour, cssColour, initialValue, propertiesOf, PropertyType } from "./catalogue";
import { Value } from "./Configuration";

type Properties = Record<string, unknown>;

export function PropertyEditor(
  { catalogue, kind, properties, colours, change, isReadOnly, label }: {
    catalogue: Catalogue;
    kind: string;
    properties: Properties;
    colours: Colour[];
    change: (properties: Properties) => void;
    isReadOnly: boolean;
    label: string;
  }
) {
  const known = propertiesOf(catalogue, kind);
  // The first dashboard wrote the kind among the properties.
  const set = Object.keys(properties).filter((name) => name !== "type" || known.has("type"));
  const free = [...known.keys()].filter((name) => !(name in properties));
  const names = colours.map((one) => one.name);
  const remove = (name: string) => {
    const { [name]: _, ...rest } = properties;
    change(rest);
  };
  return (
    <div className="stack">
      {set.length === 0 && <p className="faint">{t("No property is set: the app's own values hold.")}</p>}
      {set.length > 0 && (
        <div className="table">
          <table aria-label={label}>
            <tbody>
              {set.map((name) => (
                <tr key={name}>
                  <td style={{ width: "38%" }}>
                    <code>{name}</code>{" "}
                    {!known.has(name) && own(catalogue, kind) && <Badge tone="warning">{t("unknown")}</Badge>}
                  </td>
                  <td>
                    <Field
                      type={known.get(name) ?? { type: "any" }}
                      label={name}
                      value={properties[name]}
                      colours={colours}
                      isReadOnly={isReadOnly}
                      change={(value) => change({ ...properties, [name]: value })} />
                  </td>
                  <td style={{ width: 56 }}>
                    {!isReadOnly && (
                      <Button
                        icon="trash"
                        kind="quiet"
                        isSmall
                        label={t("Remove {name}", { name })}
                        onPress={() => remove(name)} />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {!isReadOnly && free.length > 0 && (
        <Select
          label={t("Add a property")}
          value=""
          change={(name) => change({ ...properties, [name]: initialValue(known.get(name) ?? { type: "any" }, names) })}
          options={[
            { value: "", title: t("Add a property…") },
            ...free.map((name) => ({ value: name, title: name }))
          ]} />
      )}
    </div>
  );
}

function Field(
  { type, label, value, colours, change, isReadOnly }: {
    type: PropertyType;
    label: string;
    value: unknown;
    colours: Colour[];
    change: (value: unknown) => void;
    isReadOnly: boolean;
  }
) {
  const choose = (options: string[]) => (
    <Select
      label={label}
      value={String(value ?? "")}
      isDisabled={isReadOnly}
      change={change}
      options={[...new Set(["", ...options, String(value ?? "")])].map((one) => ({ value: one, title: one || "–" }))} />
  );
  switch (type.type) {
    case "boolean":
      return (
        <Value
          value={value === true || value === "1" || value === "true" || value === 1}
          {...{ label, change, isReadOnly }} />
      );
    case "choice":
      return choose(type.choices ?? []);
    case "color":
      return (
        <span className="row nowrap">
          <i className="colour-dot" style={{ background: cssColour(colours, value) }} />
          {choose(colours.map((one) => one.name))}
        </span>
      );
    case "number":
    case "integer":
      return (
        <input
          type="number"
          value={String(value ?? "")}
          min={type.minimum}
          max={type.maximum}
          step={type.type === "integer" ? 1 : "any"}
          disabled={isReadOnly}
          aria-label={label}
          onChange={(event) => change(event.currentTarget.value === "" ? "" : Number(event.currentTarget.value))} />
      );
    case "texts":
      return (
        <textarea
          rows={3}
          value={Array.isArray(value) ? value.join("\n") : String(value ?? "")}
          disabled={isReadOnly}
          aria-label={label}
          onChange={(event) => change(event.currentTarget.value.split("\n"))} />
      );
    case "any":
      return <Value value={value} {...{ label, change, isReadOnly }} />;
    default:
      return (
        <input
          type={type.type === "url" ? "url" : "text"}
          value={String(value ?? "")}
          maxLength={type.maximumLength}
          disabled={isReadOnly}
          aria-label={label}
          onChange={(event) => change(event.currentTarget.value)} />
      );
  }
}
