/// A line of CSV (RFC 4180) for people's spreadsheets.
public enum CSVLine {
    /// Every cell in quotes and guarded against formulas; nil and "" are empty cells. Ends with CRLF.
    public static func text(_ cells: some Sequence<String?>) -> String {
        cells.map { cell in
            guard let cell, !cell.isEmpty else { return "" }
            return FormulaGuard.added(to: cell).enclosed(in: "\"")
        }.joined(separator: ",") + "\r\n"
    }
}
