// The metrics of an A/B test.

import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Button, Section } from "../system/basics";
import { Check, Choice, TextField } from "../system/form";
import { useLoad } from "../system/load";
import { own } from "../system/own";
import { t, Text } from "../text";
import { asItIs, isNumber, isRecord, isText, Members, pass, withMember, without } from "./flagRules";
import { daysAgo } from "./Overview";
import { Labelled, NotShown, NumberField, useKeys, ValueInput } from "./TypedInputs";

const mostMetrics = 50;

type Kind = "proportion" | "mean" | "ratio";
const kinds: Record<Kind, Text> = {
  proportion: "Share with the event",
  mean: "Sum of a property, or number of events",
  ratio: "Sum divided by another event"
};

type Goal = "increase" | "decrease";

/** What is known of relative effects before the test. */
interface Prior extends Members {
  mean?: number;
  standardDeviation: number;
}

const isPrior = (value: unknown): value is Prior =>
  isRecord(value) && pass(value, ["mean"], isNumber) && isNumber(own(value, "standardDeviation"));

/** Whether the form can show a metric. */
const isShown = (metric: unknown): metric is Members =>
  isRecord(metric) && isText(metric.name) &&
  pass(metric, ["kind"], (value) => own<Text>(kinds, String(value)) !== undefined) &&
  pass(metric, ["goal"], (value) => value === "increase" || value === "decrease") &&
  pass(metric, ["event", "property", "denominatorEvent"], isText) &&
  pass(metric, ["covariate"], (value) => typeof value === "boolean") &&
  pass(metric, ["covariateDays", "minimumEffect"], isNumber) && pass(metric, ["prior"], isPrior);

export function Metrics({ draft, change }: { draft: Members; change: (draft: Members) => void }) {
  const place = usePlace();
  const all: unknown[] = Array.isArray(draft.metrics) ? draft.metrics : [];
  const { keys, remove } = useKeys(all.length);
  const set = (metrics: unknown[]) => change({ ...draft, metrics });
  const names = all.filter(isShown).map((one) => String(one.name));
  const events = useLoad(async () => {
    if (!place.may("analytics", "read")) return [];
    const query = { from: daysAgo(29), to: daysAgo(0), interval: "month", group: "event", limit: 50 };
    const counts = await request("GET /admin/apps/{app}/analytics/counts", { ...given(place), query });
    const values = (counts.body.data as { value?: string | null }[]).map((one) => one.value);
    return [...new Set(values.filter((one): one is string => Boolean(one)))];
  }, [place.app.id, place.environment]);
  const add = () => {
    let n = all.length + 1;
    while (names.includes("metric-" + n)) n++;
    set([...all, { name: "metric-" + n }]);
  };
  if (draft.metrics != null && !Array.isArray(draft.metrics)) return <NotShown value={draft.metrics} />;
  return (
    <Section
      title={t("Metrics")}
      note={t("What is compared between the variations. A metric without an event gets its numbers from your server.")}>
      <ol className="stack" aria-label={t("Metrics")}>
        {all.map((metric, index) => (
          <li key={keys[index]} className="card">
            <div className="row">
              <h3>{isShown(metric) ? String(metric.name) : t("Metric")}</h3>
              <Button
                icon="trash"
                kind="quiet"
                isSmall
                label={t("Remove metric {n}", { n: index + 1 })}
                onPress={() => {
                  remove(index);
                  set(all.filter((_, place) => place !== index));
                }} />
            </div>
            {isShown(metric) ?
              (
                <MetricFields
                  metric={metric}
                  change={(next) => set(all.map((one, place) => (place === index ? next : one)))}
                  events={events.data ?? []} />
              ) :
              <NotShown value={metric} />}
          </li>
        ))}
      </ol>
      <div>
        <Button icon="plus" isDisabled={all.length >= mostMetrics} onPress={add}>{t("Add a metric")}</Button>
      </div>
    </Section>
  );
}

/** What metrics of a kind cannot have. */
const foreign: Record<Kind, string[]> = {
  proportion: ["property", "denominatorEvent"],
  mean: ["denominatorEvent"],
  ratio: ["covariate", "covariateDays"]
};

function MetricFields(
  { metric, change, events }: { metric: Members; change: (metric: Members) => void; events: string[] }
) {
  const kind = (own(metric, "kind") ?? "proportion") as Kind;
  const set = (name: string, value: unknown) => change(withMember(metric, name, value));
  const text = (name: string) => (own(metric, name) as string | undefined) ?? "";
  const event = (name: string, label: string) => (
    <Labelled
      label={label}
      isOptional={name === "event"}
      control={(id) => (
        <ValueInput<string>
          id={id}
          label=""
          value={text(name)}
          change={(value) => set(name, value || undefined)}
          read={asItIs}
          write={asItIs}
          words={events} />
      )} />
  );
  return (
    <div className="stack">
      <div className="pair">
        <TextField label={t("Name")} value={text("name")} change={(name) => set("name", name)} isCode isRequired />
        <Choice<Kind>
          label={t("What is measured")}
          value={kind}
          change={(next) => {
            const rest = without(metric, ["kind", ...foreign[next]]);
            change(next === "proportion" ? rest : { ...rest, kind: next });
          }}
          options={(Object.keys(kinds) as Kind[]).map((one) => ({ value: one, title: t(kinds[one]) }))} />
        <Choice<Goal>
          label={t("Goal")}
          value={(own(metric, "goal") ?? "increase") as Goal}
          change={(goal) => set("goal", goal === "increase" ? undefined : goal)}
          options={[
            { value: "increase", title: t("more is better") },
            { value: "decrease", title: t("less is better") }
          ]} />
      </div>
      <div className="pair">
        {event("event", t("Event"))}
        {kind !== "proportion" && (
          <TextField
            label={t("Property that is added up")}
            hint={t("Without one, events are counted.")}
            value={text("property")}
            change={(property) => set("property", property || undefined)}
            isCode
            isOptional />
        )}
        {kind === "ratio" && event("denominatorEvent", t("Divided by this event"))}
        <NumberField
          label={t("Smallest effect that matters, in percent")}
          value={own(metric, "minimumEffect") as number | undefined}
          change={(effect) => set("minimumEffect", effect)}
          least={0.0001}
          most={10}
          isShare />
      </div>
      {kind !== "ratio" && (
        <Check
          label={t("Use the time before the test, too")}
          hint={t("Finds smaller effects. Use it only for what the variations cannot have changed.")}
          value={metric.covariate === true}
          change={(isOn) =>
            change(isOn ? { ...metric, covariate: true } : without(metric, ["covariate", "covariateDays"]))} />
      )}
      {metric.covariate === true && text("event") !== "" && (
        <NumberField
          label={t("Days before the test")}
          value={own(metric, "covariateDays") as number | undefined}
          change={(days) => set("covariateDays", days)}
          least={1}
          most={90}
          usual={14}
          isWhole />
      )}
      <PriorFields prior={own(metric, "prior") as Prior | undefined} change={(prior) => set("prior", prior)} />
    </div>
  );
}

function PriorFields({ prior, change }: { prior: Prior | undefined; change: (prior: Prior | undefined) => void }) {
  return (
    <>
      <Check
        label={t("Use a prior")}
        hint={t("What you expect of relative effects before the test. The chance to win takes it into account.")}
        value={prior !== undefined}
        change={(isOn) => change(isOn ? { standardDeviation: 0.3 } : undefined)} />
      {prior && (
        <div className="pair">
          <NumberField
            label={t("Expected effect, in percent")}
            value={prior.mean}
            change={(mean) => change(withMember(prior, "mean", mean))}
            least={-10}
            most={10}
            usual={0}
            isShare />
          <NumberField
            label={t("Its standard deviation, in percent")}
            value={prior.standardDeviation}
            change={(deviation) => deviation !== undefined && change({ ...prior, standardDeviation: deviation })}
            least={0.0001}
            most={100}
            isShare
            isRequired />
        </div>
      )}
    </>
  );
}
