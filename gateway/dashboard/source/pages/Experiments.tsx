// A/B tests: the document, its course, and its results drawn and in words.

import { useState } from "react";
import type { ExperimentResults } from "../../generated/api";
import { request, Tagged } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Button, Empty, Notice, Section, Show, Tone } from "../system/basics";
import { Interval } from "../system/charts";
import { Dialog, useConfirm } from "../system/dialog";
import { Choice, Form, TextField } from "../system/form";
import { Loaded, useInterval, useLoad } from "../system/load";
import { go } from "../system/router";
import { say } from "../system/toast";
import { ago, number, percent, t, Text } from "../text";
import { DocumentList, DocumentPage, Draft, putDraft } from "./document";

export function ExperimentsPage() {
  const [isNew, setNew] = useState(false);
  return (
    <>
      <DocumentList
        kind="experiment"
        page="experiments"
        area="experiments"
        title={t("A/B tests")}
        note={t("Give a share of the users something else for a while, and see which does better.")}
        empty={t("A test compares a control with one or more variations of flags or configurations.")}
        make={<Button kind="primary" icon="plus" onPress={() => setNew(true)}>{t("New test")}</Button>} />
      {isNew && <NewExperiment close={() => setNew(false)} />}
    </>
  );
}

function NewExperiment({ close }: { close: () => void }) {
  const place = usePlace();
  const [title, setTitle] = useState("");
  const [name, setName] = useState("");
  const [flag, setFlag] = useState("");
  const [value, setValue] = useState("true");
  const [event, setEvent] = useState("");
  const [unit, setUnit] = useState<"device" | "user">("device");
  const suggested = title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 40);
  const key = name || suggested;
  const send = async () => {
    let parsed: unknown = value;
    try {
      parsed = JSON.parse(value);
    } catch { /* a text */ }
    const metric = event.trim() ?
      [{ name: event.trim().toLowerCase().replace(/[^a-z0-9]+/g, "-"), event: event.trim() }] :
      [];
    const variation = flag.trim() ? { key: "variation", flags: { [flag.trim()]: parsed } } : { key: "variation" };
    await putDraft(place, "experiment", key, {
      title,
      state: "draft",
      unit,
      variations: [{ key: "control" }, variation],
      metrics: metric
    }, null);
    go(place.to("experiments/" + encodeURIComponent(key), { tab: "json" }));
  };
  return (
    <Dialog title={t("New test")} close={close}>
      <Form send={send} action={t("Create")} cancel={close} isDisabled={!key}>
        <TextField
          label={t("What is tested")}
          value={title}
          change={setTitle}
          isRequired
          autoFocus
          placeholder={t("Such as: dark checkout")} />
        <TextField
          label={t("Key")}
          value={key}
          change={setName}
          isCode
          isRequired
          hint={t("Stands in answers and events.")} />
        <div className="pair">
          <TextField label={t("Flag")} value={flag} change={setFlag} isCode isOptional placeholder="new-checkout" />
          <TextField label={t("Its value in the variation")} value={value} change={setValue} isCode />
        </div>
        <TextField
          label={t("Event that counts as success")}
          value={event}
          change={setEvent}
          isOptional
          placeholder="Bought" />
        <Choice
          label={t("Who keeps a variation")}
          value={unit}
          change={setUnit}
          options={[{ value: "device", title: t("Device") }, { value: "user", title: t("User") }]} />
      </Form>
    </Dialog>
  );
}

const states: Record<string, { title: Text; tone: Tone }> = {
  draft: { title: "Draft", tone: "neutral" },
  running: { title: "Running", tone: "good" },
  stopped: { title: "Stopped", tone: "warning" },
  decided: { title: "Decided", tone: "accent" }
};

export function ExperimentPage({ name }: { name: string }) {
  const place = usePlace();
  return (
    <DocumentPage
      kind="experiment"
      name={name}
      area="experiments"
      back={{ to: place.to("experiments"), title: t("A/B tests") }}
      views={[{ name: "results", title: t("Results"), show: (draft) => <Results name={name} draft={draft} /> }]}
      actions={(loaded) => place.may("experiments", "update") && <Course name={name} loaded={loaded} />} />
  );
}

function Course({ name, loaded }: { name: string; loaded: Loaded<Tagged<Draft>> }) {
  const place = usePlace();
  const [dialog, ask] = useConfirm();
  const [isDeciding, setDeciding] = useState(false);
  const state = String(loaded.data?.body.draft["state"] ?? "draft");
  const act = async (verb: "start" | "stop", done: string) => {
    await request(`POST /admin/apps/{app}/config/experiment/{name}/${verb}`, { ...given(place, { name }), body: {} });
    say(done);
    loaded.reload();
  };
  return (
    <>
      <Badge tone={states[state]?.tone ?? "neutral"}>{t(states[state]?.title ?? "Draft")}</Badge>
      {(state === "draft" || state === "stopped") && (
        <Button
          kind="primary"
          onPress={() =>
            ask({
              title: t("Start {name}?", { name }),
              action: t("Start"),
              isDanger: false,
              text: t("A share of the users gets the variations within a second."),
              act: () => act("start", t("The test is running."))
            })}>
          {t("Start")}
        </Button>
      )}
      {state === "running" && (
        <Button onPress={() => act("stop", t("Stopped: everybody gets what is live."))}>{t("Stop")}</Button>
      )}
      {(state === "running" || state === "stopped") && (
        <Button kind="primary" onPress={() => setDeciding(true)}>{t("Decide")}</Button>
      )}
      {isDeciding && (
        <Decide
          name={name}
          variations={(loaded.data?.body.draft["variations"] ?? []).map((one: { key: string }) => one.key)}
          close={() => setDeciding(false)}
          done={() => {
            setDeciding(false);
            loaded.reload();
          }} />
      )}
      {dialog}
    </>
  );
}

function Decide(
  { name, variations, close, done }: { name: string; variations: string[]; close: () => void; done: () => void }
) {
  const place = usePlace();
  const [variation, setVariation] = useState(variations[0] ?? "");
  const send = async () => {
    await request("POST /admin/apps/{app}/config/experiment/{name}/decide", {
      ...given(place, { name }),
      body: { variation }
    });
    say(t("Decided"));
    done();
  };
  return (
    <Dialog title={t("Decide {name}", { name })} close={close}>
      <Form send={send} action={t("Decide")} cancel={close}>
        <p>
          {t(
            "The test ends, and the configuration of the variation is published. Flags of the variation are yours to publish."
          )}
        </p>
        <Choice
          label={t("The better variation")}
          value={variation}
          change={setVariation}
          options={variations.map((one) => ({ value: one, title: one }))} />
      </Form>
    </Dialog>
  );
}

interface Effect {
  effect: number;
  fixed?: Test;
  sequential?: Test;
  bayesian?: { chanceToWin?: number; interval?: [number, number] };
}
interface Test {
  interval: [number, number];
  p: number;
}
interface Metric {
  name: string;
  kind: string;
  goal: string;
  hint?: { reason?: string; advice?: string };
  control?: { variation: string; units: number; mean: number };
  variations: { variation: string; units: number; mean: number; relative?: Effect; neededUnits?: number | null }[];
}

const advices: Record<string, { title: Text; tone: Tone }> = {
  wait: { title: "Wait: nothing can be told from chance yet.", tone: "neutral" },
  take: { title: "Take the variation: it does better.", tone: "good" },
  stay: { title: "Stay with the control.", tone: "warning" },
  distrust: { title: "Do not trust these numbers yet.", tone: "bad" }
};

function Results({ name, draft }: { name: string; draft: any }) {
  const place = usePlace();
  const results = useLoad(
    async () =>
      (await request("GET /admin/apps/{app}/config/experiment/{name}/results", given(place, { name })))
        .body as ExperimentResults,
    [place.app.id, place.environment, name]
  );
  const isRunning = draft.state !== "draft";
  useInterval(() => isRunning && results.reload(), 20);
  if (!isRunning) {
    return (
      <Empty icon="experiment" title={t("Not started")}>
        {t("Start the test to see results here. Check variations and metrics first, under JSON.")}
      </Empty>
    );
  }
  return (
    <Show from={results}>
      {(found) => (
        <div className="stack-large">
          <Advice results={found} />
          {(found.metrics as unknown as Metric[] | undefined)?.map((metric) => (
            <MetricTable key={metric.name} metric={metric} alpha={found.alpha ?? 0.05} />
          ))}
          <Section title={t("Can the numbers be trusted?")}>
            <ul className="stack" style={{ gap: 8 }}>
              {found.guardRails?.map((rail) => (
                <li key={rail.code} className="row" style={{ flexWrap: "nowrap", alignItems: "flex-start" }}>
                  <Badge tone={rail.met ? "good" : "warning"}>{rail.met ? t("met") : t("not met")}</Badge>
                  <span className="soft">{rail.message}</span>
                </li>
              ))}
            </ul>
          </Section>
          <p className="faint">
            {Object.entries(found.units ?? {}).map(([variation, count]) => `${variation}: ${number(count)}`).join(
              " · "
            )}
            {found.asOf ? " · " + ago(found.asOf as string) : ""}
          </p>
        </div>
      )}
    </Show>
  );
}

function Advice({ results }: { results: ExperimentResults }) {
  const advice = advices[results.hint?.advice ?? "wait"] ??
    { title: "Wait: nothing can be told from chance yet." as Text, tone: "neutral" as Tone };
  return (
    <Notice tone={advice.tone}>
      <strong>{t(advice.title)}</strong> {results.hint?.reason}
    </Notice>
  );
}

function MetricTable({ metric, alpha }: { metric: Metric; alpha: number }) {
  const intervalOf = (one: Metric["variations"][number]) =>
    one.relative?.sequential?.interval ?? one.relative?.fixed?.interval;
  const reach = Math.max(0.05, ...metric.variations.flatMap((one) => (intervalOf(one) ?? []).map(Math.abs))) * 1.1;
  const mean = (
    value: number
  ) => (metric.kind === "proportion" ? percent(value, 2) : number(Math.round(value * 100) / 100));
  const signed = (value: number) => (value > 0 ? "+" : "") + percent(value);
  return (
    <Section title={metric.name} note={metric.hint?.reason}>
      <div className="table">
        <table aria-label={metric.name}>
          <thead>
            <tr>
              <th scope="col">{t("Variation")}</th>
              <th scope="col" className="number">{t("Units")}</th>
              <th scope="col" className="number">{t("Mean")}</th>
              <th scope="col" className="number">{t("Effect")}</th>
              <th scope="col" style={{ width: "34%" }}>{t("{share} interval", { share: percent(1 - alpha, 0) })}</th>
              <th scope="col" className="number extra">{t("Chance to be better")}</th>
            </tr>
          </thead>
          <tbody>
            {metric.control && (
              <tr>
                <td>{metric.control.variation}</td>
                <td className="number">{number(metric.control.units)}</td>
                <td className="number">{mean(metric.control.mean)}</td>
                <td className="number faint">{t("control")}</td>
                <td />
                <td className="extra" />
              </tr>
            )}
            {metric.variations.map((one) => {
              const interval = intervalOf(one);
              return (
                <tr key={one.variation}>
                  <td className="strong">{one.variation}</td>
                  <td className="number">{number(one.units)}</td>
                  <td className="number">{mean(one.mean)}</td>
                  <td className="number">{one.relative ? signed(one.relative.effect) : "–"}</td>
                  <td>
                    {interval && one.relative && (
                      <Interval
                        low={interval[0]}
                        high={interval[1]}
                        value={one.relative.effect}
                        reach={reach}
                        isLessBetter={metric.goal === "decrease"}
                        label={t("Between {low} and {high}", {
                          low: signed(interval[0]),
                          high: signed(interval[1])
                        })} />
                    )}
                  </td>
                  <td className="number extra">
                    {one.relative?.bayesian?.chanceToWin !== undefined ?
                      percent(one.relative.bayesian.chanceToWin, 0) :
                      "–"}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      {metric.variations.map((one) => {
        const interval = intervalOf(one);
        return interval && one.relative && (
          <p key={one.variation} className="hint">
            {t("{name} changes {metric} by {effect}; the truth most likely lies between {low} and {high}.", {
              name: one.variation,
              metric: metric.name,
              effect: signed(one.relative.effect),
              low: signed(interval[0]),
              high: signed(interval[1])
            })}
          </p>
        );
      })}
    </Section>
  );
}
