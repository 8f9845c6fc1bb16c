/// An element of an XML document, with its contents.
struct XMLElement: Equatable {
    enum Node: Equatable {
        case element(XMLElement)
        case text(String)
        case comment(String)
    }

    /// The name as written, including a prefix.
    var name: String
    var attributes: [(name: String, value: String)] = []
    var children: [Node] = []
    /// The line on which it starts, from 1.
    var line = 0

    static func == (left: XMLElement, right: XMLElement) -> Bool {
        left.name == right.name && left.children == right.children
            && left.attributes.elementsEqual(right.attributes) { $0.name == $1.name && $0.value == $1.value }
    }

    subscript(attribute: String) -> String? { attributes.first { $0.name == attribute }?.value }

    /// The name without a prefix.
    var localName: Substring { name.split(separator: ":").last ?? "" }

    var elements: [XMLElement] { children.compactMap { if case .element(let element) = $0 { element } else { nil } } }

    func elements(_ localName: String) -> [XMLElement] { elements.filter { $0.localName == localName } }

    func first(_ localName: String) -> XMLElement? { elements.first { $0.localName == localName } }

    /// The element's text, including that of nested elements.
    var text: String {
        children.map { node in
            switch node {
            case .text(let text): text
            case .element(let element): element.text
            case .comment: ""
            }
        }.joined()
    }

    /// The element's contents as XML.
    var markup: String {
        children.map { node in
            switch node {
            case .text(let text): XMLText.escaped(text)
            case .element(let element): element.xml
            case .comment: ""
            }
        }.joined()
    }

    private var xml: String {
        let attributes = attributes.map { " " + $0.name + "=" + XMLText.quoted($0.value) }.joined()
        return children.isEmpty ? "<\(name)\(attributes)/>" : "<\(name)\(attributes)>\(markup)</\(name)>"
    }
}

/// Text in XML 1.0.
enum XMLText {
    static func escaped(_ text: some StringProtocol) -> String {
        text.escaping { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            // An unescaped carriage return would be read as a line feed.
            case "\r": "&#13;"
            default: nil
            }
        }
    }

    /// An attribute's value, with quotes.
    static func quoted(_ text: some StringProtocol) -> String {
        let inner = escaped(text).escaping { scalar in
            switch scalar {
            case "\"": "&quot;"
            case "\n": "&#10;"
            case "\t": "&#9;"
            default: nil
            }
        }
        return "\"" + inner + "\""
    }

    /// The body of a comment. Separates consecutive hyphens, which would end it.
    static func comment(_ text: String) -> String {
        var isAfterHyphen = false
        let body = text.escaping { scalar in
            defer { isAfterHyphen = scalar == "-" }
            return scalar == "-" && isAfterHyphen ? " -" : nil
        }
        return body.hasSuffix("-") ? body + " " : body
    }

    /// Whether XML 1.0 can represent the text: no controls except tab and line breaks, no U+FFFE or U+FFFF.
    static func canHold(_ text: some StringProtocol) -> Bool {
        text.unicodeScalars.allSatisfy { isCharacter($0) }
    }

    static func isCharacter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20
            ? scalar.value != 0xfffe && scalar.value != 0xffff : scalar == "\t" || scalar == "\n" || scalar == "\r"
    }
}
