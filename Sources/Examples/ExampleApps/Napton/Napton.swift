import Foundation
import MartletKit
import MartletScreens

/// An app that the server describes, on one phone. Built into it are the name of its definition, the key that may sign
/// it, and one kind of view. Everything else comes from the server.
struct Napton: Sendable {
    static let roundImage = "RoundImageView"

    let martlet: Martlet
    let loader: DefinitionLoader
    private let renderer: HTMLDefinitionRenderer

    /// - Parameters:
    ///   - definition: Its name on the server.
    ///   - bundle: The definition as it was when the app was built.
    ///   - hasRoundImages: Whether the app has the kind of view that the address book asks for.
    init(_ definition: String, on martlet: Martlet, bundle: URL? = nil, hasRoundImages: Bool = true) {
        var options = DefinitionOptions()
        // As in the app store. This program is a debug build, which would download everything each time.
        options.alwaysRefreshes = false
        options.locale = Locale(identifier: "en_GB")
        options.timeZone = TimeZone(identifier: "UTC") ?? .current
        options.bundle = bundle
        if hasRoundImages { options.components.addView(Self.roundImage) }
        self.martlet = martlet
        loader = martlet.definition(definition, options)
        var renderer = HTMLDefinitionRenderer(server: martlet.configuration)
        renderer.views[Self.roundImage] = { node, _ in
            let url = HTMLDefinitionRenderer.escape(node.text("url"))
            return "<img src=\"\(url)\" alt=\"\" style=\"width:100%;height:100%;border-radius:50%\">"
        }
        self.renderer = renderer
    }

    /// The screen as HTML.
    func page(_ screen: DefinitionScreen) -> String { renderer.page(screen) }

    /// Taps on the view that shows this text.
    func tap(
        _ text: String, on screen: DefinitionScreen, of definition: AppDefinition
    ) async throws -> [DefinitionOutcome] {
        let view = screen.nodes.first { !$0.actions.isEmpty && Outline().render($0).joined().contains(text) }
        guard let view else { throw StoryError("On “\(screen.title)”, nothing with “\(text)” can be tapped.") }
        return try await definition.perform(view.actions)
    }

    /// The screen that a tap on this text opens.
    func open(
        _ text: String, on screen: DefinitionScreen, of definition: AppDefinition
    ) async throws -> DefinitionScreen {
        guard case .open(let next, _)? = try await tap(text, on: screen, of: definition).first else {
            throw StoryError("On “\(screen.title)”, “\(text)” opens nothing.")
        }
        return next
    }
}

/// A participant of the events, as sent by the definition's form.
struct SignUp: Storable {
    static let collection = "signups"

    var name: String
    var email: String
    var age: Int
    var terms: Bool
}

/// Shows a screen in the terminal: a line for each row, and for each other view that has something to show.
struct Outline: DefinitionRenderer {
    func output(for node: DefinitionNode, contents: [[String]]) -> [String] {
        let lines = own(node) + contents.joined()
        return node.isHorizontal ? [lines.joined(separator: "  ")] : lines
    }

    private func own(_ node: DefinitionNode) -> [String] {
        switch node.kind {
        case "LabelView": [node.text("text")]
        case "ImageView", Napton.roundImage: ["[picture]"]
        case "MapView": ["[map]"]
        case "ButtonView": ["[\(node.text("title"))]"]
        case "TextField", "Toggle", "Picker", "DatePicker": ["\(node.own("title")?.stringValue ?? ""): ____"]
        default: []
        }
    }
}
