/// Detects statements that would change a shared connection or interfere with the transaction that `withTransaction`
/// manages.
///
/// Guards against programming mistakes and is not a security measure, because users' text never becomes SQL.
enum StatementRule {
    /// Returns the error if the statement must not be sent.
    static func refusal(_ sql: String, inTransaction: Bool) -> PostgresError? {
        if sql.hasPrefix("SELECT ") || sql.hasPrefix("WITH ") { return nil }
        let words = firstWords(sql)
        let isRefused =
            switch words.first {
            case "BEGIN", "START", "COMMIT", "END", "ABORT", "PREPARE", "DISCARD", "LISTEN", "UNLISTEN", "COPY",
                "DEALLOCATE":
                true
            case "ROLLBACK": !(inTransaction && words.last == "TO")
            case "SAVEPOINT", "RELEASE": !inTransaction
            case "SET": !(inTransaction && ["LOCAL", "CONSTRAINTS", "TRANSACTION"].contains(words.last))
            case "RESET": true
            default: false
            }
        guard isRefused, let word = words.first else { return nil }
        return PostgresError(.misuse, "\(word) cannot be run here; see withTransaction, executeScript and listen")
    }

    /// The first two words in upper case, without white space and comments.
    private static func firstWords(_ sql: String) -> [String] {
        var rest = sql.utf8[...]
        var words: [String] = []
        while words.count < 2 {
            skipBlanks(&rest)
            let word = rest.prefix { (65...90).contains($0 & 0xDF) }
            guard !word.isEmpty else { break }
            words.append(String(Substring(word)).uppercased())
            rest = rest.dropFirst(word.count)
        }
        return words
    }

    /// Skips white space, comments, semicolons and opening parentheses.
    private static func skipBlanks(_ rest: inout Substring.UTF8View) {
        while let byte = rest.first {
            if [9, 10, 11, 12, 13, 32, 59, 40].contains(byte) {
                rest = rest.dropFirst()
            } else if rest.starts(with: "--".utf8) {
                rest = rest.drop { $0 != 10 }
            } else if rest.starts(with: "/*".utf8) {
                rest = rest.dropFirst(2)
                while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
                rest = rest.dropFirst(2)
            } else {
                return
            }
        }
    }
}
