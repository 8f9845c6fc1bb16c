public import Foundation
public import MartletKit

/// Shows definitions as HTML without scripts, to look at them on any machine.
///
/// ```swift
/// let html = HTMLDefinitionRenderer(server: configuration).page(screen)
/// try Data(html.utf8).write(to: URL(fileURLWithPath: "screen.html"))
/// ```
///
/// Everything that comes from the definition or the models is escaped; colours, sizes and addresses that are not valid
/// are left out.
public struct HTMLDefinitionRenderer: DefinitionRenderer, Sendable {
    /// Shows a view of one of the app's own kinds.
    public typealias CustomView = @Sendable (_ node: DefinitionNode, _ contents: [String]) -> String

    /// The app's own kinds. What they return is not escaped: see ``escape(_:)``.
    public var views: [String: CustomView] = [:]
    /// The base of picture addresses that are paths: `https://api.example.org/api/mk_live_…`. Nil: such pictures are
    /// not shown.
    public var base: URL?

    public init(base: URL? = nil) { self.base = base }

    /// - Parameter server: The server to which paths of pictures belong.
    public init(server: Martlet.Configuration) {
        base = server.url.appendingPathComponent("api").appendingPathComponent(server.appKey)
    }

    /// A page with the screen's title and view, 390 points wide.
    public func page(_ screen: DefinitionScreen, language: String = "en") -> String {
        """
        <!DOCTYPE html>
        <html lang="\(Self.escape(language))">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
        img-src https: http:; form-action 'none'">
        <meta name="viewport" content="width=device-width">
        <title>\(Self.escape(screen.title))</title>
        <style>\(Self.style)</style>
        </head>
        <body>
        <header>\(Self.escape(screen.title))</header>
        <main>\(render(screen.root))</main>
        </body>
        </html>

        """
    }

    public func output(for node: DefinitionNode, contents: [String]) -> String {
        let inner = contents.joined()
        if let custom = views[node.kind] { return box(node, custom(node, contents)) }
        switch node.kind {
        case "LabelView": return box(node, Self.escape(node.text("text")), style: textStyle(node))
        case "ButtonView": return box(node, "button", Self.escape(node.text("title")), " type=\"button\"")
        case "ImageView": return image(node)
        case "ListView": return box(node, "ul", contents.map { "<li>\($0)</li>" }.joined())
        case "Form": return box(node, "form", inner)
        case "TextField", "Toggle", "Picker", "DatePicker": return box(node, input(node))
        case "MapView": return box(node, map(node))
        default: return box(node, inner)
        }
    }

    /// Escapes a text for elements and attributes.
    public static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// An address of a picture: an http or https URL, or a path of the app's own server.
    public func address(_ text: String) -> URL? {
        guard text.utf8.count <= 2_048 else { return nil }
        if let path = DefinitionModels.path(text) {
            return base.flatMap { URL(string: $0.absoluteString + "/" + path) }
        }
        guard let url = URL(string: text), let host = url.host, !host.isEmpty,
            ["http", "https"].contains(url.scheme?.lowercased())
        else { return nil }
        return url
    }

    private func image(_ node: DefinitionNode) -> String {
        guard let url = address(node.text("url")) else { return box(node, "") }
        let name = Self.escape(node.name ?? "")
        return box(node, "<img src=\"\(Self.escape(url.absoluteString))\" alt=\"\(name)\">")
    }

    /// The coordinates of the place, which need no map server.
    private func map(_ node: DefinitionNode) -> String {
        guard let place = node.place else { return "" }
        let figures = [place.latitude, place.longitude].map { String(format: "%.5f", $0) }.joined(separator: ", ")
        let title = node.own("title")?.shownText ?? ""
        return "<span class=\"pin\"></span><span>\(Self.escape(title))</span><span>\(figures)</span>"
    }

    // MARK: Elements

    private func box(_ node: DefinitionNode, _ inner: String, style: String = "") -> String {
        box(node, "div", inner, style: style)
    }

    private func box(
        _ node: DefinitionNode, _ element: String, _ inner: String, _ attributes: String = "", style more: String = ""
    ) -> String {
        var attributes = " class=\"\(Self.escape(node.kind))\"" + attributes
        if let name = node.name { attributes += " data-name=\"\(Self.escape(name))\"" }
        if !node.actions.isEmpty {
            let names = node.actions.map(\.name).joined(separator: " ")
            attributes += " data-actions=\"\(Self.escape(names))\""
        }
        let style = layout(node) + more
        if !style.isEmpty { attributes += " style=\"\(style)\"" }
        return "<\(element)\(attributes)>\(inner)</\(element)>"
    }

    /// The view's place, size, direction and background. A number that is not one is left out.
    private func layout(_ node: DefinitionNode) -> String {
        var style = node.isHorizontal ? "flex-direction:row;" : ""
        for side in ["top", "left", "right", "bottom"] {
            if let points = points(node.own(side)) { style += "margin-\(side):\(points)px;" }
        }
        for (length, grows) in [("width", node.isInRow), ("height", !node.isInRow)] {
            if let points = points(node.own(length), least: 0) {
                style += "\(length):\(points)px;flex-shrink:0;"
            } else if node.own(length)?.stringValue == "fill" {
                style += grows ? "flex:1 1 0;min-\(length):0;" : "align-self:stretch;"
            }
        }
        if let color = node.color("background_color", own: true) { style += "background:\(color.hexadecimal);" }
        return style
    }

    private func textStyle(_ node: DefinitionNode) -> String {
        var style = ""
        if let color = node.color("text_color") { style += "color:\(color.hexadecimal);" }
        if let size = points(node.argument("text_size"), least: 1) { style += "font-size:\(size)px;" }
        if let lines = node.argument("text_lines")?.intValue, (1...10_000).contains(lines) {
            style += "display:-webkit-box;-webkit-box-orient:vertical;overflow:hidden;-webkit-line-clamp:\(lines);"
        }
        let font = node.text("text_font")
        let isFontName = font.utf8.allSatisfy { byte in
            byte == 0x20 || byte == 0x2d || Character(Unicode.Scalar(byte)).isLetter && byte < 0x80
        }
        if !font.isEmpty, font.utf8.count <= 64, isFontName { style += "font-family:'\(font)';" }
        return style
    }

    private func points(_ json: JSON?, least: Double = -100_000) -> String? {
        DefinitionNode.points(json, least: least).flatMap { JSONNumber(($0 * 100).rounded() / 100)?.text }
    }

    private static let style = """
        *{box-sizing:border-box}body{margin:0 auto;max-width:390px;min-height:100vh;display:flex;flex-direction:column;\
        font:16px system-ui,sans-serif;background:#fff;color:#000}\
        header{padding:14px;text-align:center;font-weight:600;border-bottom:1px solid #ccc}\
        main{flex:1;display:flex;flex-direction:column}main>*{flex:1}\
        div,form,ul{display:flex;flex-direction:column;margin:0;padding:0}\
        ul{list-style:none}li{border-bottom:1px solid #eee}\
        .LabelView{display:block;overflow-wrap:anywhere;white-space:pre-line}\
        .ImageView img{width:100%;height:100%;object-fit:cover}\
        button{padding:12px;border:0;border-radius:8px;background:#0a60d0;color:#fff;font:inherit}\
        label{display:flex;flex-direction:column;gap:4px}label.Toggle{flex-direction:row;justify-content:space-between}\
        input:not([type=checkbox]),select,textarea{padding:8px;font:inherit;border:1px solid #aaa;border-radius:6px}\
        .problem{color:#b00020;font-size:14px}.Placeholder{background:#f4f4f4}\
        .MapView{align-items:center;justify-content:center;background:#e3eddc}\
        .pin{width:16px;height:16px;border-radius:8px 8px 8px 0;transform:rotate(-45deg);background:#c62828}
        """
}
