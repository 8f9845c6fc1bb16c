import MartletKit

/// The views of a form, with the user's input and its problems.
extension HTMLDefinitionRenderer {
    func input(_ node: DefinitionNode) -> String {
        let label = Self.escape(node.own("title")?.shownText ?? "")
        let problem = node.field.flatMap { node.form?.problems[$0] }.map {
            "<span class=\"problem\" role=\"alert\">\(Self.escape($0))</span>"
        }
        let control =
            switch node.kind {
            case "Toggle": checkbox(node)
            case "Picker": picker(node)
            case "DatePicker": field(node, type: Self.dateTypes[node.own("mode")?.stringValue ?? ""] ?? "date")
            default: textField(node)
            }
        let title = label.isEmpty ? "" : "<span>\(label)</span>"
        return "<label class=\"\(node.kind)\">\(title)\(control)</label>" + (problem ?? "")
    }

    private static let dateTypes = ["date": "date", "time": "time", "date_time": "datetime-local"]
    private static let keyboards = ["email": "email", "number": "number", "phone": "tel", "url": "url"]

    private func value(_ node: DefinitionNode) -> JSON? {
        node.field.flatMap { node.form?[$0] } ?? (node.form == nil ? node.own("value") : nil)
    }

    private func checkbox(_ node: DefinitionNode) -> String {
        "<input type=\"checkbox\"\(attributes(node))\(value(node) == true ? " checked" : "")>"
    }

    private func picker(_ node: DefinitionNode) -> String {
        let chosen = value(node)
        let options = node.options.map { option in
            let mark = option.value == chosen ? " selected" : ""
            let value = Self.escape(option.value.shownText)
            return "<option value=\"\(value)\"\(mark)>\(Self.escape(option.title))</option>"
        }
        return "<select\(attributes(node))><option value=\"\"></option>\(options.joined())</select>"
    }

    private func textField(_ node: DefinitionNode) -> String {
        // An entered password is not repeated in the page.
        if node.own("secure")?.boolValue == true { return "<input type=\"password\"\(attributes(node))>" }
        if let lines = node.own("text_lines")?.intValue, (2...100).contains(lines) {
            let text = Self.escape(value(node)?.shownText ?? "")
            return "<textarea rows=\"\(lines)\"\(attributes(node))>\(text)</textarea>"
        }
        return field(node, type: Self.keyboards[node.own("keyboard")?.stringValue ?? ""] ?? "text")
    }

    private func field(_ node: DefinitionNode, type: String) -> String {
        var text = value(node)?.shownText ?? ""
        // Browsers take local times without an offset.
        if type == "datetime-local" { text = String(text.prefix(16)) }
        return "<input type=\"\(type)\"\(attributes(node)) value=\"\(Self.escape(text))\">"
    }

    private func attributes(_ node: DefinitionNode) -> String {
        var attributes = node.field.map { " name=\"\(Self.escape($0))\"" } ?? ""
        let placeholder = node.own("placeholder")?.shownText ?? ""
        if !placeholder.isEmpty { attributes += " placeholder=\"\(Self.escape(placeholder))\"" }
        if node.argument("required")?.boolValue == true { attributes += " required" }
        return attributes
    }
}
