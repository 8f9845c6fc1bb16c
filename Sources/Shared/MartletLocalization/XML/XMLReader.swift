import MartletCore

/// Parses the part of XML 1.0 that translation files use: elements, attributes, text, CDATA, comments, and character
/// references.
///
/// A document type is skipped if it declares nothing, and refused otherwise. Without declarations only XML's five
/// predefined entities exist, so nothing can be fetched from elsewhere or expanded exponentially. Foundation's parser
/// would also work, but it links the system's libxml2 and ICU into programs that otherwise need neither.
struct XMLReader {
    static let maximumDepth = 64
    static let maximumNodes = 500_000
    static let maximumAttributes = 64

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var nodes = 0

    /// The root element of a document, with the comments before it.
    ///
    /// - Throws: `LocalizationFault` naming the line.
    static func root(of bytes: [UInt8]) throws -> XMLElement {
        var reader = XMLReader(try TextEncoding.text(of: bytes))
        return try reader.document()
    }

    /// The nodes of a fragment such as `Hello <b>you</b>`.
    static func fragment(_ text: String) throws -> [XMLElement.Node] {
        var reader = XMLReader("<f>" + text + "</f>")
        return try reader.document().children
    }

    private init(_ text: String) {
        // XML 1.0, 2.11: every line break is read as a line feed.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var isAfterReturn = false
        for byte in text.utf8 {
            if byte != 0x0a || !isAfterReturn { bytes.append(byte == 0x0d ? 0x0a : byte) }
            isAfterReturn = byte == 0x0d
        }
        self.bytes = bytes
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func fault(_ reason: String) -> LocalizationFault { LocalizationFault("line \(line)", reason) }

    private mutating func document() throws -> XMLElement {
        while true {
            skipBlanks()
            if takes("<?") {
                _ = try text(upTo: "?>")
            } else if takes("<!--") {
                _ = try text(upTo: "-->")
            } else if takes("<!DOCTYPE") {
                let declaration = try text(upTo: ">")
                guard !declaration.holds("[") else {
                    throw fault("A document type with declarations is not allowed.")
                }
            } else {
                break
            }
        }
        guard takes("<") else { throw fault("This is not XML: there is no element.") }
        let root = try element(depth: 1)
        skipBlanks()
        while takes("<!--") || takes("<?") {
            _ = try text(upTo: ">")
            skipBlanks()
        }
        guard next == nil else { throw fault("There is content after the end of the document.") }
        return root
    }

    /// Reads an element after its `<`.
    private mutating func element(depth: Int) throws -> XMLElement {
        guard depth <= Self.maximumDepth else {
            throw fault("Elements may be nested at most \(Self.maximumDepth) deep.")
        }
        try countNode()
        var element = XMLElement(name: try name(), line: line)
        while true {
            let hasBlank = skipBlanks()
            if takes("/>") { return element }
            if takes(">") { break }
            guard hasBlank else { throw fault("A tag is not closed.") }
            let attribute = try attribute()
            guard element[attribute.name] == nil, element.attributes.count < Self.maximumAttributes else {
                throw fault("An attribute occurs twice, or there are too many.")
            }
            element.attributes.append(attribute)
        }
        element.children = try children(of: element.name, depth: depth)
        return element
    }

    private mutating func children(of parent: String, depth: Int) throws -> [XMLElement.Node] {
        var children: [XMLElement.Node] = []
        var text: [UInt8] = []
        func flush() throws {
            guard !text.isEmpty else { return }
            children.append(.text(try checked(text)))
            text.removeAll()
        }
        while let byte = next {
            if byte != UInt8(ascii: "<"), byte != UInt8(ascii: "&") {
                text.append(byte)
                advance()
            } else if takes("<![CDATA[") {
                text += try self.text(upTo: "]]>").utf8
            } else if takes("<!--") {
                try flush()
                try countNode()
                children.append(.comment(try self.text(upTo: "-->")))
            } else if takes("<?") {
                _ = try self.text(upTo: "?>")
            } else if takes("</") {
                guard try name() == parent else { throw fault("<\(parent)> is closed by another tag.") }
                skipBlanks()
                guard takes(">") else { throw fault("A tag is not closed.") }
                try flush()
                return children
            } else if takes("<") {
                try flush()
                children.append(.element(try element(depth: depth + 1)))
            } else {
                advance()
                text += try reference().utf8
            }
        }
        throw fault("<\(parent)> is not closed.")
    }

    private mutating func attribute() throws -> (name: String, value: String) {
        let name = try name()
        skipBlanks()
        guard takes("=") else { throw fault("The attribute \(name) has no value.") }
        skipBlanks()
        guard let quote = next, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw fault("The value of \(name) has no quotes.")
        }
        advance()
        var value: [UInt8] = []
        while let byte = next, byte != quote {
            guard byte != UInt8(ascii: "<") else { throw fault("There is a < in the value of \(name).") }
            if takes("&") {
                value += try reference().utf8
            } else {
                // XML 1.0, 3.3.3: literal whitespace becomes spaces.
                value.append(byte == 0x0a || byte == 0x09 ? 0x20 : byte)
                advance()
            }
        }
        guard next == quote else { throw fault("The value of \(name) is not closed.") }
        advance()
        return (name, try checked(value))
    }

    /// Reads a reference after its `&`.
    private mutating func reference() throws -> String {
        let start = position
        while let byte = next, byte != UInt8(ascii: ";"), position - start < 10 { advance() }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        guard takes(";") else { throw fault("Expected a reference after &.") }
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            let value =
                name.hasPrefix("#x")
                ? UInt32(name.dropFirst(2), radix: 16) : name.hasPrefix("#") ? UInt32(name.dropFirst()) : nil
            guard let scalar = value.flatMap(Unicode.Scalar.init), XMLText.isCharacter(scalar) else {
                throw fault("The entity &\(name); is unknown.")
            }
            return String(scalar)
        }
    }

    private mutating func name() throws -> String {
        let start = position
        while let byte = next, !" \t\n/>=<\"'&;!?".utf8.contains(byte) { advance() }
        let isBegun = start < position && !"-.0123456789".utf8.contains(bytes[start])
        guard isBegun, position - start <= 128 else { throw fault("A name is missing, too long or malformed.") }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func text(upTo end: String) throws -> String {
        let start = position
        while position < bytes.count {
            let stop = position
            if takes(end) { return try checked(bytes[start..<stop]) }
            advance()
        }
        throw fault("A \(end) is missing.")
    }

    private func checked(_ bytes: some Sequence<UInt8>) throws -> String {
        let text = String(decoding: Array(bytes), as: UTF8.self)
        guard XMLText.canHold(text) else { throw fault("There is a character that XML does not allow.") }
        return text
    }

    private mutating func countNode() throws {
        nodes += 1
        guard nodes <= Self.maximumNodes else {
            throw fault("There may be at most \(Self.maximumNodes) elements and comments.")
        }
    }

    private mutating func takes(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        for _ in text.utf8 { advance() }
        return true
    }

    @discardableResult
    private mutating func skipBlanks() -> Bool {
        let start = position
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x09 { advance() }
        return position > start
    }

    private mutating func advance() {
        if bytes[position] == 0x0a { line += 1 }
        position += 1
    }
}
