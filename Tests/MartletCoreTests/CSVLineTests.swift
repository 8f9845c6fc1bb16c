import MartletCore
import Testing

@Suite struct CSVLineTests {
    @Test(
        "cells are quoted, guarded against formulas, and empty for missing values",
        arguments: [
            (["a", nil, "", "b"], "\"a\",,,\"b\"\r\n"),
            (["say \"hi\"", "x,y", "1\n2"], "\"say \"\"hi\"\"\",\"x,y\",\"1\n2\"\r\n"),
            (["=1+1", "-2", "@x", "'a", "+1", "\t"], "\"'=1+1\",\"'-2\",\"'@x\",\"''a\",\"'+1\",\"'\t\"\r\n"),
            ([], "\r\n"),
            // Not a quote to Swift, but the end of the cell to programs that read the file.
            (["a\"\u{301},=1+1"], "\"a\"\"\u{301},=1+1\"\r\n"),
        ] as [([String?], String)])
    func lines(cells: [String?], text: String) {
        #expect(CSVLine.text(cells) == text)
    }
}
