// Questions about events, each with its chart; the question is the address.

import { PageHead, Tabs } from "../system/basics";
import { Select } from "../system/form";
import { setQuery } from "../system/router";
import { plural, t } from "../text";
import { Asked, Question, questions, useAsked } from "./AnalyticsQuestion";
import { Counts, Funnel, People, Retention } from "./AnalyticsCharts";
import { Screens, Sessions } from "./AnalyticsSessions";
import { Live, SingleEvents } from "./AnalyticsEvents";

export function AnalyticsPage() {
  const asked = useAsked();
  return (
    <div className="page">
      <PageHead
        title={t("Analytics")}
        note={asked.release ?
          t("Release {version}; choose another one at the top.", { version: asked.release }) :
          undefined}>
        <Period asked={asked} />
      </PageHead>
      <Tabs
        label={t("Question")}
        current={asked.question}
        choose={(question) => setQuery({ question })}
        tabs={(Object.keys(questions) as Question[]).map((name) => ({ name, title: t(questions[name]) }))} />
      <Answer key={asked.question} asked={asked} />
    </div>
  );
}

function Period({ asked }: { asked: Asked }) {
  if (asked.question === "live" || asked.question === "raw") return null;
  return (
    <>
      <Select
        label={t("Period")}
        value={String(asked.days)}
        change={(days) => setQuery({ days })}
        options={["7", "30", "90", "365"].map((days) => ({
          value: days,
          title: plural(Number(days), "{n} day", "{n} days")
        }))} />
      {asked.question !== "funnel" && asked.question !== "screens" && (
        <Select
          label={t("Interval")}
          value={asked.interval}
          change={(interval) => setQuery({ interval })}
          options={[{ value: "day", title: t("By day") }, { value: "week", title: t("By week") }, {
            value: "month",
            title: t("By month")
          }]} />
      )}
    </>
  );
}

function Answer({ asked }: { asked: Asked }) {
  switch (asked.question) {
    case "people":
      return <People asked={asked} />;
    case "sessions":
      return <Sessions asked={asked} />;
    case "screens":
      return <Screens asked={asked} />;
    case "retention":
      return <Retention asked={asked} />;
    case "funnel":
      return <Funnel asked={asked} />;
    case "live":
      return <Live />;
    case "raw":
      return <SingleEvents asked={asked} />;
    default:
      return <Counts asked={asked} />;
  }
}
