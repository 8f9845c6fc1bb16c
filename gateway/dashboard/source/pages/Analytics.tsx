// Questions about events, each with its chart. The address holds the whole question, so it can be bookmarked.

import { useState } from "react";
import type { SavedQuestion } from "../../generated/api";
import { usePlace } from "../shell/place";
import { Button, PageHead, Tabs } from "../system/basics";
import { Select } from "../system/form";
import { lazy } from "../system/lazy";
import { setQuery, useAddress } from "../system/router";
import { plural, t } from "../text";
import { Asked, Question, questions, useAsked } from "./AnalyticsQuestion";
import { Counts, Funnel, People, Retention } from "./AnalyticsCharts";
import { questionOf } from "./SavedQuestions";

const Screens = lazy(async () => (await import("./AnalyticsSessions")).Screens);
const Sessions = lazy(async () => (await import("./AnalyticsSessions")).Sessions);
const Live = lazy(async () => (await import("./AnalyticsEvents")).Live);
const SingleEvents = lazy(async () => (await import("./AnalyticsEvents")).SingleEvents);
const SavedList = lazy(async () => (await import("./SavedList")).SavedList);
const SaveDialog = lazy(async () => (await import("./SavedList")).SaveDialog);

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
        <Save asked={asked} />
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

function Save({ asked }: { asked: Asked }) {
  const place = usePlace();
  const { query } = useAddress();
  const [question, setQuestion] = useState<SavedQuestion | null>(null);
  const present = questionOf(asked, query);
  if (!present || !place.may("analytics", "update")) return null;
  return (
    <>
      <Button onPress={() => setQuestion(present)}>{t("Save")}</Button>
      {question && <SaveDialog question={question} close={() => setQuestion(null)} />}
    </>
  );
}

function Period({ asked }: { asked: Asked }) {
  if (asked.question === "live" || asked.question === "raw" || asked.question === "saved") return null;
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
    case "saved":
      return <SavedList />;
    default:
      return <Counts asked={asked} />;
  }
}
