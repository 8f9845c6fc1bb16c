// The answers to saved questions, on the overview.

import type { SavedQuestion } from "../../generated/api";
import { request } from "../api/client";
import { callIn, given, Place, usePlace } from "../shell/place";
import { Empty, Link, Section, Show } from "../system/basics";
import { useLoad } from "../system/load";
import { t } from "../text";
import { Cohorts, CountLines, FunnelBars, PeopleLines } from "./AnalyticsCharts";
import { daysAgo, orNothing } from "./Overview";
import { addressOfQuestion, wordsOf } from "./SavedQuestions";
import { ScreenBars, SessionLines } from "./AnalyticsSessions";

/** More would take the overview too long, and nobody reads them. */
const maximumShown = 8;

export function SavedAnswers() {
  const place = usePlace();
  const list = useLoad(
    () => orNothing(callIn(place, "GET /admin/apps/{app}/analytics/questions")),
    [place.app.id, place.environment]
  );
  const shown = (list.data?.data ?? []).filter((one) => one.isOnOverview);
  if (shown.length === 0) return null;
  return (
    <div className="columns">
      {shown.slice(0, maximumShown).map((one) => <Answer key={one.name} question={one} />)}
      {shown.length > maximumShown && (
        <Link to={place.to("analytics", { question: "saved" })}>
          {t("{n} more saved questions", { n: shown.length - maximumShown })}
        </Link>
      )}
    </div>
  );
}

function Answer({ question }: { question: SavedQuestion }) {
  const place = usePlace();
  const answer = useLoad(() => ask(place, question), [place.app.id, place.environment, JSON.stringify(question)]);
  return (
    <Section
      title={question.name}
      note={wordsOf(question)}
      actions={<Link to={addressOfQuestion(place, question)}>{t("More in Analytics")}</Link>}>
      <Show from={answer}>{(rows) => <Chart kind={question.kind} rows={rows} />}</Show>
    </Section>
  );
}

async function ask(place: Place, { kind, days = 30, parameters, steps, windowSeconds }: SavedQuestion): Promise<any[]> {
  const path = `/admin/apps/{app}/analytics/${kind}`;
  const period = { from: daysAgo(days - 1), to: daysAgo(0) };
  const limit = parameters?.group ? 6 : kind === "screens" ? 10 : undefined;
  const answer = kind === "funnel" ?
    await request("POST " + path, { ...given(place), query: period, body: { steps, windowSeconds } }) :
    await request("GET " + path, { ...given(place), query: { ...parameters, ...period, limit } });
  return answer.body.data;
}

function Chart({ kind, rows }: { kind: SavedQuestion["kind"]; rows: any[] }) {
  if (rows.length === 0) return <Empty icon="analytics" title={t("No events in this period")} />;
  switch (kind) {
    case "counts":
      return <CountLines rows={rows} />;
    case "people":
      return <PeopleLines rows={rows} />;
    case "sessions":
      return <SessionLines rows={rows} />;
    case "screens":
      return <ScreenBars rows={rows} />;
    case "retention":
      return <Cohorts rows={rows} />;
    case "funnel":
      return <FunnelBars steps={rows} />;
  }
}
