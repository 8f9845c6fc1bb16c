/// A syntax of placeholders.
public enum PlaceholderStyle: String, CaseIterable, Sendable {
    /// Foundation's syntax, which catalogues use: `%@`, `%lld`, `%1$@`.
    case apple
    /// Java's syntax: `%s`, `%d`, `%1$s`; with positions if there are several.
    case android
    /// The syntax of ICU and most web libraries: `{0}`.
    case braces

    /// Converts a catalogue's text to this style. Nil if there is no exact equivalent.
    public func text(of text: String) -> String? {
        switch self {
        case .apple: text
        case .android: android(text)
        case .braces: braces(text)
        }
    }

    /// Converts a text in this style to the catalogue's. Nil if there is no exact equivalent.
    public func reading(_ text: String) -> String? {
        switch self {
        case .apple: text
        case .android: fromAndroid(text)
        case .braces: fromBraces(text)
        }
    }

    private func android(_ text: String) -> String? {
        let segments = Segment.segments(of: text)
        let isAlone = segments.count { if case .placeholder = $0 { true } else { false } } == 1
        return Self.joined(segments.numbered) { placeholder in
            guard let conversion = placeholder.javaConversion, !placeholder.layout.contains("'") else { return nil }
            var placeholder = placeholder
            if isAlone, placeholder.position == 1, !text.contains("%1$") { placeholder.position = nil }
            placeholder.specifier = conversion
            return placeholder.text
        }
    }

    private func fromAndroid(_ text: String) -> String? {
        Self.joined(Segment.segments(of: text)) { placeholder in
            var placeholder = placeholder
            switch placeholder.specifier {
            case "s": placeholder.specifier = "@"
            case "d", "x", "X", "o": placeholder.specifier = "ll" + placeholder.specifier
            case "f", "e", "E", "c": break
            default: return nil
            }
            guard placeholder.specifier != "@" || placeholder.layout.isEmpty,
                !placeholder.layout.contains(where: { ",(#".contains($0) })
            else { return nil }
            return placeholder.text
        }
    }

    private func braces(_ text: String) -> String? {
        Self.joined(Segment.segments(of: text).numbered, percent: "%", plain: Self.quoted) { placeholder in
            guard
                placeholder.kind == .object
                    || (placeholder.kind == .integer && "di".contains(placeholder.specifier.suffix(1))),
                placeholder.layout.isEmpty, let position = placeholder.position
            else { return nil }
            return "{\(position - 1)}"
        }
    }

    private func fromBraces(_ text: String) -> String? {
        Self.joined(Segment.segmentsWithBraces(of: text), plain: { $0.escaping { $0 == "%" ? "%%" : nil } }) {
            placeholder in
            placeholder.position.map { "%\($0)$@" }
        }
    }

    /// Quotes braces as ICU requires.
    private static func quoted(_ text: String) -> String {
        text.escaping { $0 == "'" ? "''" : $0 == "{" || $0 == "}" ? "'\($0)'" : nil }
    }

    private static func joined(
        _ segments: [Segment], percent: String = "%%", plain: (String) -> String = { $0 },
        _ convert: (Placeholder) -> String?
    ) -> String? {
        var text = ""
        for segment in segments {
            switch segment {
            case .text(let part): text += plain(part)
            case .percent: text += percent
            case .placeholder(let placeholder):
                guard let converted = convert(placeholder) else { return nil }
                text += converted
            }
        }
        return text
    }
}

extension [Segment] {
    /// The same segments with explicit positions.
    var numbered: [Segment] {
        var next = 1
        return map { segment in
            guard case .placeholder(var placeholder) = segment else { return segment }
            placeholder.position = placeholder.position ?? next
            next += 1
            return .placeholder(placeholder)
        }
    }
}

extension Placeholder {
    /// The conversion with which Java's Formatter produces the same output.
    fileprivate var javaConversion: String? {
        let conversion = specifier.suffix(1)
        switch kind {
        case .object: return layout.isEmpty ? "s" : nil
        case .integer where conversion == "i": return "d"
        case .integer where "dxXoc".contains(conversion): return String(conversion)
        // %g drops trailing zeros in C but keeps them in Java.
        case .float where "feE".contains(conversion): return String(conversion)
        default: return nil
        }
    }
}
