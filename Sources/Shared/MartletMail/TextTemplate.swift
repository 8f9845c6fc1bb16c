/// Text with placeholders, `{{name}}`, and sections, `{{#name}}…{{/name}}`, which appear only if the name has a value.
///
/// Deliberately not a template engine: a template written by an app's server can neither loop nor access anything, and
/// a misspelt name is an error instead of a gap in the text.
public struct TextTemplate: Sendable, Equatable {
    private enum Piece: Sendable, Equatable {
        case text(String)
        case value(String)
        case section(String, [Piece])
    }

    private let pieces: [Piece]

    /// - Parameter names: The names that the template may use; nil allows every valid name, and `missing(_:)` finds
    ///   those without a value.
    /// - Throws: `TextTemplateError`.
    public init(_ text: String, names: Set<String>?) throws(TextTemplateError) {
        var pieces: [Piece] = []
        var open: (name: String, before: [Piece])?
        var rest = Substring(text)
        while let start = rest.firstRange(of: "{{") {
            if start.lowerBound > rest.startIndex { pieces.append(.text(String(rest[..<start.lowerBound]))) }
            guard let end = rest[start.upperBound...].firstRange(of: "}}") else {
                throw TextTemplateError("A {{ lacks its closing }}.")
            }
            let tag = rest[start.upperBound..<end.lowerBound]
            let name = String(tag.drop { $0 == "#" || $0 == "/" })
            guard tag.count <= name.count + 1, names?.contains(name) ?? Self.isName(name) else {
                throw TextTemplateError(
                    "Unknown placeholder {{\(tag.prefix(40))}}"
                        + (names.map { "; available: \($0.sorted().joined(separator: ", "))." } ?? "."))
            }
            switch (tag.first, open) {
            case ("#", nil):
                open = (name, pieces)
                pieces = []
            case ("#", _): throw TextTemplateError("Sections {{#…}} cannot be nested.")
            case ("/", let section?) where section.name == name:
                pieces = section.before + [.section(name, pieces)]
                open = nil
            case ("/", _): throw TextTemplateError("{{/\(name)}} has no matching opening tag.")
            default: pieces.append(.value(name))
            }
            rest = rest[end.upperBound...]
        }
        if let open { throw TextTemplateError("{{#\(open.name)}} has no closing tag.") }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        self.pieces = pieces
    }

    /// Whether the text is a valid name: an ASCII letter, then up to 63 ASCII letters, digits or `_`.
    public static func isName(_ text: String) -> Bool {
        text.utf8.count <= 64 && text.unicodeScalars.first?.isLetterOfASCII == true
            && text.unicodeScalars.allSatisfy { $0.isLetterOfASCII || ("0"..."9").contains($0) || $0 == "_" }
    }

    /// All names in the template, including those that only open a section.
    public var names: Set<String> { Self.names(pieces) }

    private static func names(_ pieces: [Piece]) -> Set<String> {
        pieces.reduce(into: []) { names, piece in
            switch piece {
            case .text: break
            case .value(let name): names.insert(name)
            case .section(let name, let inner): names.formUnion(self.names(inner).union([name]))
            }
        }
    }

    /// The names that would be shown without a value. Sections that are left out do not count.
    public func missing(_ values: Set<String>) -> Set<String> { Self.missing(pieces, values) }

    private static func missing(_ pieces: [Piece], _ values: Set<String>) -> Set<String> {
        pieces.reduce(into: []) { missing, piece in
            switch piece {
            case .text: break
            case .value(let name): if !values.contains(name) { missing.insert(name) }
            case .section(let name, let inner):
                if values.contains(name) { missing.formUnion(Self.missing(inner, values)) }
            }
        }
    }

    /// The size of `filled(_:)` in bytes before escaping. A short value may appear thousands of times, so check this
    /// first.
    public func filledSize(_ values: [String: String]) -> Int { Self.size(pieces, values.mapValues(\.utf8.count)) }

    private static func size(_ pieces: [Piece], _ sizes: [String: Int]) -> Int {
        pieces.reduce(0) { sum, piece in
            switch piece {
            case .text(let literal): sum + literal.utf8.count
            case .value(let name): sum + (sizes[name] ?? 0)
            case .section(let name, let inner): sum + (sizes[name] == nil ? 0 : size(inner, sizes))
            }
        }
    }

    /// - Parameter escape: Applied to each value.
    public func filled(_ values: [String: String], escape: (String) -> String = { $0 }) -> String {
        Self.fill(pieces, values, escape)
    }

    private static func fill(_ pieces: [Piece], _ values: [String: String], _ escape: (String) -> String) -> String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .text(let literal): text += literal
            case .value(let name): text += values[name].map(escape) ?? ""
            case .section(let name, let inner): if values[name] != nil { text += fill(inner, values, escape) }
            }
        }
    }
}

public struct TextTemplateError: Error {
    public let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}

extension Unicode.Scalar {
    fileprivate var isLetterOfASCII: Bool { ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
}
