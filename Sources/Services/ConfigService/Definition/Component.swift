/// The built-in kinds of views and controllers of the client's framework, with the types of their properties.
///
/// Arguments are looked up along the chain of parents, so a view may carry properties of the views inside it.
enum Component {
    enum Property: Sendable {
        case distance, length, color, text, size, count, orientation, url, flag
        case view, model, controller
        /// Checked elsewhere.
        case structure
    }

    static let views: Set<String> = ["View", "ListView", "LabelView", "ButtonView", "ImageView"]
    static let controllers: Set<String> = ["ViewController", "NavController", "SystemController"]
    /// The actions that built-in kinds handle.
    static let actions: Set<String> = ["openController", "showAlert"]

    static let viewProperties: [String: Property] = [
        "name": .structure, "kind": .structure, "contents": .structure, "actions": .structure, "fallback": .structure,
        "requires": .structure,
        "before": .structure, "hidden": .flag, "orientation": .orientation, "background_color": .color,
        "top": .distance, "left": .distance, "right": .distance, "bottom": .distance, "width": .length,
        "height": .length,
        "text": .text, "text_color": .color, "text_font": .text, "text_size": .size, "text_lines": .count,
        "title": .text, "url": .url, "items_model": .model, "row_view": .view,
    ]

    static let controllerProperties: [String: Property] = [
        "name": .structure, "kind": .structure, "actions": .structure, "models": .structure, "views": .structure,
        "controllers": .structure,
        "render": .view, "title": .text, "message": .text,
    ]

    static let actionProperties: [String: Property] = [
        "action": .structure, "kind": .structure, "controller": .controller, "controller_model": .text, "title": .text,
        "message": .text,
    ]
}
