// When the results of an A/B test count.

import { Section } from "../system/basics";
import { own } from "../system/own";
import { t, Text } from "../text";
import { isNumber, isRecord, Members, pass, withMember } from "./flagRules";
import { NotShown, NumberField } from "./TypedInputs";

interface Rail {
  name: string;
  label: Text;
  hint: Text;
  least: number;
  most: number;
  usual: number;
  isShare?: boolean;
  isWhole?: boolean;
}

/** As ConfigService's `ExperimentDocument.GuardRails` reads them. */
const rails: Rail[] = [
  {
    name: "minimumUnits",
    label: "Units of each variation, at least",
    hint: "With fewer, the results do not count.",
    least: 2,
    most: 1_000_000_000,
    usual: 100,
    isWhole: true
  },
  {
    name: "sampleRatioThreshold",
    label: "Limit for an uneven split, in percent",
    hint: "If a split as uneven as this test's is less probable, do not trust the results.",
    least: 0,
    most: 0.05,
    usual: 0.001,
    isShare: true
  },
  {
    name: "alpha",
    label: "Level of significance, in percent",
    hint: "How often a difference may be found where there is none.",
    least: 0.0001,
    most: 0.5,
    usual: 0.05,
    isShare: true
  },
  {
    name: "power",
    label: "Power, in percent",
    hint: "How often a difference that exists must be found.",
    least: 0.5,
    most: 0.999,
    usual: 0.8,
    isShare: true
  },
  {
    name: "tuning",
    label: "Units at which intervals are narrowest",
    hint: "About as many as the test will have.",
    least: 10,
    most: 1_000_000_000,
    usual: 5000
  }
];

export function GuardRails({ draft, change }: { draft: Members; change: (draft: Members) => void }) {
  const stored = own(draft, "guardRails") ?? {};
  const isShown = isRecord(stored) && pass(stored, rails.map((one) => one.name), isNumber);
  const set = (next: Members) =>
    change(withMember(draft, "guardRails", Object.keys(next).length > 0 ? next : undefined));
  return (
    <Section
      title={t("Guard rails")}
      note={t("When the results count, and when they are not to be trusted. For an empty field, the value in grey holds.")}>
      {!isShown ? <NotShown value={stored} /> : (
        <div className="pair">
          {rails.map(({ name, label, hint, ...range }) => (
            <NumberField
              key={name}
              label={t(label)}
              hint={t(hint)}
              value={own(stored, name) as number | undefined}
              change={(value) => set(withMember(stored, name, value))}
              {...range} />
          ))}
        </div>
      )}
    </Section>
  );
}
