import MartletCore
import MartletHTTP

/// Formats values as YAML 1.2: in flow style if they fit on a line, otherwise in block style.
enum YAMLText {
    private static let width = 118

    static func text(of value: Schema.Literal) -> String {
        var text = ""
        write(value, indentation: 0, to: &text)
        return text
    }

    private static func write(_ value: Schema.Literal, indentation: Int, to text: inout String) {
        let margin = String(repeating: " ", count: indentation)
        switch value {
        case .object(let members) where !members.isEmpty:
            for member in members {
                text += margin + scalar(member.name) + ":"
                writeNested(member.value, indentation + 2, after: member.name.utf8.count + indentation + 2, to: &text)
            }
        case .array(let elements) where !elements.isEmpty:
            for element in elements {
                text += margin + "-"
                writeNested(element, indentation + 2, after: indentation + 2, to: &text)
            }
        default: text += margin + flow(value) + "\n"
        }
    }

    private static func writeNested(
        _ value: Schema.Literal, _ indentation: Int, after column: Int, to text: inout String
    ) {
        let line = flow(value)
        if line.count + column <= width || !value.isContainer {
            text += " " + line + "\n"
        } else {
            text += "\n"
            write(value, indentation: indentation, to: &text)
        }
    }

    private static func flow(_ value: Schema.Literal) -> String {
        switch value {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): String(number)
        case .number(let number): String(number)
        case .string(let string): scalar(string)
        case .array(let elements): "[" + elements.map(flow).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { scalar($0.name) + ": " + flow($0.value) }.joined(separator: ", ") + "}"
        }
    }

    /// A plain scalar if it cannot be mistaken for another type, otherwise a JSON string, which is also valid YAML.
    private static func scalar(_ string: String) -> String {
        isPlain(string) ? string : JSONValue.quote(string)
    }

    private static let reserved: Set<String> = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]

    /// Words of letters, digits and `_./$+-`, separated by single spaces; the first begins with a letter or a slash.
    private static func isPlain(_ string: String) -> Bool {
        var previous = UInt8(ascii: " ")
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "/"): break
            case UInt8(ascii: " ") where previous != UInt8(ascii: " "): break
            case _ where byte != UInt8(ascii: " ") && "0123456789_.$+-".utf8.contains(byte):
                guard previous != UInt8(ascii: " ") || string.utf8.first != byte else { return false }
            default: return false
            }
            previous = byte
        }
        return previous != UInt8(ascii: " ") && !reserved.contains(string.lowercased())
    }
}

extension Schema.Literal {
    fileprivate var isContainer: Bool {
        switch self {
        case .array(let elements): !elements.isEmpty
        case .object(let members): !members.isEmpty
        default: false
        }
    }
}
