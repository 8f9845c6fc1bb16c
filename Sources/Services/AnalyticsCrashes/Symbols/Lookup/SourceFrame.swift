import MartletCore

/// The source location of an address.
struct SourceFrame: Sendable, Equatable {
    private static let maximumNameLength = 4_096
    private static let maximumPathLength = 1_024
    private static let maximumInlined = 64

    /// Mangled for Swift, readable for other languages; empty if unknown.
    var function: String
    /// Nil if unknown.
    var path: String?
    var line: Int?
    var column: Int?

    /// Parses the output of `llvm-symbolizer --output-style=JSON` for one address: inlined calls, innermost first;
    /// empty if nothing is known.
    ///
    /// - Throws: `Unreadable` if the output has another form. The debug file may be damaged, or the program may not be
    ///   `llvm-symbolizer`.
    static func frames(in line: String) throws(Unreadable) -> [SourceFrame] {
        guard let answer = try? JSONValue(parsing: line.utf8), case .array(let symbols) = answer["Symbol"] else {
            throw Unreadable()
        }
        return symbols.prefix(maximumInlined).map { SourceFrame($0) }.filter { !$0.function.isEmpty || $0.path != nil }
    }

    struct Unreadable: Error {}

    init(function: String, path: String? = nil, line: Int? = nil, column: Int? = nil) {
        (self.function, self.path, self.line, self.column) = (function, path, line, column)
    }

    private init(_ symbol: JSONValue) {
        function = Self.text(symbol["FunctionName"], upTo: Self.maximumNameLength) ?? ""
        path = Self.text(symbol["FileName"], upTo: Self.maximumPathLength)
        line = Self.number(symbol["Line"])
        column = Self.number(symbol["Column"])
    }

    private static func text(_ value: JSONValue?, upTo limit: Int) -> String? {
        guard case .string(let text) = value, !text.isEmpty, text != "??" else { return nil }
        // The names are untrusted, because anyone may have made the debug file.
        return String(
            text.unicodeScalars.lazy.filter { $0.value >= 0x20 && $0.value != 0x7f }.prefix(limit).map { Character($0) }
        )
    }

    private static func number(_ value: JSONValue?) -> Int? {
        guard case .number(let literal) = value, let number = Int(literal), (1...10_000_000).contains(number) else {
            return nil
        }
        return number
    }
}
