/// A line of CSV (RFC 4180) for spreadsheets.
public enum CSVLine {
    /// Quotes every cell and protects it against formulas. Nil and "" become empty cells. Ends with CRLF.
    public static func text(_ cells: some Sequence<String?>) -> String {
        cells.map { cell in
            guard let cell, !cell.isEmpty else { return "" }
            return FormulaGuard.added(to: cell).enclosed(in: "\"")
        }.joined(separator: ",") + "\r\n"
    }
}
