// Results of an A/B test, as charts and sentences.

import type { ExperimentResults } from "../../generated/api";
import { request } from "../api/client";
import { given, usePlace } from "../shell/place";
import { Badge, Empty, Notice, Section, Show, Tone } from "../system/basics";
import { Interval } from "../system/charts";
import { useInterval, useLoad } from "../system/load";
import { ago, number, percent, t, Text } from "../text";

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
  wait: { title: "Wait: no difference can be told from chance yet.", tone: "neutral" },
  take: { title: "Take the variation: it does better.", tone: "good" },
  stay: { title: "Stay with the control.", tone: "warning" },
  distrust: { title: "Do not trust these numbers yet.", tone: "bad" }
};

export function Results({ name, draft }: { name: string; draft: any }) {
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
        {t("Start the test to see results here. Check its variations and metrics first.")}
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
    { title: "Wait: no difference can be told from chance yet." as Text, tone: "neutral" as Tone };
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
