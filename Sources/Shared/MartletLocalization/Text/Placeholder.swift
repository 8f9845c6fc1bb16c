/// A place in a text for an argument: `%1$@`, `%lld`, `%#@dogs@`, `%arg`, `{0}`, `{name}`.
public struct Placeholder: Sendable, Hashable {
    /// The type of the argument. Formatting an argument of the wrong type reads arbitrary memory.
    public enum Kind: Sendable, Hashable {
        case object, integer, float, characters, pointer
        /// `%#@name@`: replaced by the substitution's text.
        case substitution(String)
        /// `%arg`: the substitution's own number.
        case substituted
        /// `{name}`, or `{0}`.
        case named(String)
    }

    public var kind: Kind
    /// The position of the argument, from 1; nil for the next one.
    public var position: Int?
    /// Flags, width and precision, such as `-08.2`.
    public var layout = ""
    /// Length and conversion, such as `lld`.
    public var specifier = ""

    /// The placeholder in the syntax of C and Foundation.
    public var text: String {
        let position = position.map { "\($0)$" } ?? ""
        return switch kind {
        case .substitution(let name): "%\(position)#@\(name)@"
        case .substituted: "%arg"
        case .named(let name): "{\(name)}"
        default: "%\(position)\(layout)\(specifier)"
        }
    }

    /// Parses the argument of a substitution, as in `UnitPath`: `%1$lld`, `%lld` or `%1$`.
    static func argument(_ text: String) -> Placeholder? {
        if case .placeholder(let only)? = Segment.segments(of: text).first, only.text == text { return only }
        guard text.hasPrefix("%"), text.hasSuffix("$"), let position = Int(text.dropFirst().dropLast()),
            (1...99).contains(position)
        else { return nil }
        return Placeholder(kind: .integer, position: position)
    }
}

/// A part of a text: plain text, a percent sign or a placeholder.
public enum Segment: Sendable, Equatable {
    case text(String)
    /// `%%`
    case percent
    case placeholder(Placeholder)

    /// Splits a format of Foundation's `String(format:)` or of Java's Formatter.
    ///
    /// A space between `%` and a letter makes it a percent sign, not a flag, because people write "100 % done".
    public static func segments(of text: some StringProtocol) -> [Segment] {
        var scanner = FormatScanner(text)
        return scanner.segments()
    }

    public static func placeholders(of text: some StringProtocol) -> [Placeholder] {
        segments(of: text).compactMap { if case .placeholder(let placeholder) = $0 { placeholder } else { nil } }
    }

    /// Splits a text with `{0}` and `{name}`, and with ICU's quotes: `'{'` is a brace, `''` is a quote.
    public static func segmentsWithBraces(of text: some StringProtocol) -> [Segment] {
        var segments: [Segment] = []
        var plain = ""
        var isQuoted = false
        var rest = text.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            if scalar == "'" {
                if rest.first == "'" {
                    plain.unicodeScalars.append(rest.removeFirst())
                } else if isQuoted || rest.first == "{" || rest.first == "}" {
                    isQuoted.toggle()
                } else {
                    plain.unicodeScalars.append(scalar)
                }
            } else if scalar == "{", !isQuoted, let end = rest.prefix(maximumNameLength + 1).firstIndex(of: "}"),
                let name = name(rest[..<end])
            {
                if !plain.isEmpty { segments.append(.text(plain)) }
                plain = ""
                segments.append(.placeholder(Placeholder(kind: .named(name), position: Int(name).map { $0 + 1 })))
                rest = rest[rest.index(after: end)...]
            } else {
                plain.unicodeScalars.append(scalar)
            }
        }
        return plain.isEmpty ? segments : segments + [.text(plain)]
    }

    private static let maximumNameLength = 64

    private static func name(_ scalars: some Collection<Unicode.Scalar>) -> String? {
        var name = String.UnicodeScalarView()
        name.append(contentsOf: scalars)
        guard UnitPath.isName(String(name)), Int(String(name)).map({ $0 < 99 }) ?? true else { return nil }
        return String(name)
    }
}

/// Parses `%[n$][flags][width][.precision][length]conversion` (C11, 7.21.6.1, with Foundation's `@` and `#@name@`).
private struct FormatScanner {
    private static let percent = UInt8(ascii: "%")
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: some StringProtocol) {
        bytes = Array(text.utf8)
    }

    mutating func segments() -> [Segment] {
        var segments: [Segment] = []
        var start = 0
        while let mark = bytes[position...].firstIndex(of: Self.percent) {
            position = mark + 1
            let found: Segment? = next == Self.percent ? .percent : placeholder().map(Segment.placeholder)
            guard let found else {
                position = mark + 1
                continue
            }
            if found == .percent { position += 1 }
            if start < mark { segments.append(.text(string(start..<mark))) }
            segments.append(found)
            start = position
        }
        return start < bytes.count ? segments + [.text(string(start..<bytes.count))] : segments
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    private mutating func take(while accepts: (UInt8) -> Bool) -> String {
        let start = position
        while let next, accepts(next) { position += 1 }
        return string(start..<position)
    }

    private mutating func takes(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private mutating func placeholder() -> Placeholder? {
        if takes("arg") { return Placeholder(kind: .substituted) }
        let start = position
        let digits = take { (0x30...0x39).contains($0) }
        var argument: Int?
        if next == UInt8(ascii: "$"), let number = Int(digits), (1...99).contains(number) {
            position += 1
            argument = number
        } else {
            position = start
        }
        if takes("#@") {
            let name = take { $0 != UInt8(ascii: "@") }
            guard UnitPath.isName(name), takes("@") else { return nil }
            return Placeholder(kind: .substitution(name), position: argument)
        }
        let layout = take { "-+0#',(.123456789".utf8.contains($0) }
        let length = take { "hlqLztj".utf8.contains($0) }
        guard layout.utf8.count <= 16, length.utf8.count <= 2, let conversion = next, let kind = Self.kind(conversion)
        else { return nil }
        position += 1
        return Placeholder(
            kind: kind, position: argument, layout: layout, specifier: length + String(UnicodeScalar(conversion)))
    }

    private static func kind(_ conversion: UInt8) -> Placeholder.Kind? {
        switch UnicodeScalar(conversion) {
        case "@": .object
        case "d", "D", "i", "u", "U", "x", "X", "o", "O", "c", "C": .integer
        case "f", "F", "e", "E", "g", "G", "a", "A": .float
        case "s", "S": .characters
        case "p": .pointer
        default: nil
        }
    }
}
