/** A value of the record itself: a name from a document may be that of a member of `Object`, such as `constructor`. */
export const own = <Value>(record: Record<string, Value>, name: string): Value | undefined =>
  Object.prototype.hasOwnProperty.call(record, name) ? record[name] : undefined;
