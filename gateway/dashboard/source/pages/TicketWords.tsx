// Names of states, types and priorities of tickets.

import { Tone } from "../system/basics";
import { t, Text } from "../text";

export const statuses: Record<string, Text> = {
  todo: "To do",
  inProgress: "In progress",
  onHold: "On hold",
  complete: "Complete"
};

export const types: Record<string, Text> = {
  task: "Task",
  bug: "Bug",
  feature: "Feature",
  improvement: "Improvement",
  feedback: "Feedback"
};

export const priorities: Record<string, Text> = { urgent: "Urgent", high: "High", medium: "Medium", low: "Low" };

export const typeTones: Record<string, Tone> = {
  bug: "bad",
  feature: "accent",
  improvement: "accent",
  feedback: "warning",
  task: "neutral"
};

export const options = <Name extends string>(names: Record<Name, Text>) =>
  (Object.keys(names) as Name[]).map((value) => ({ value, title: t(names[value]) }));

export interface Filter {
  search?: string;
  type?: string;
  sprint?: string;
  assignee?: string;
  version?: string;
}
