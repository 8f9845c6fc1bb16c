/// The built-in kinds of views and controllers of the client's framework, with the types of their properties.
///
/// Arguments are looked up along the chain of parents, so a view may carry properties of the views inside it.
enum Component {
    enum Property: Sendable {
        case distance, length, color, text, size, count, orientation, url, flag, degrees
        case view, model, controller
        /// Any value, including the bindings in it.
        case value
        /// Checked elsewhere.
        case structure
    }

    static let views: Set<String> = [
        "View", "ListView", "LabelView", "ButtonView", "ImageView", "TextField", "Toggle", "Picker", "DatePicker",
        "Form",
        "MapView",
    ]
    static let controllers: Set<String> = ["ViewController", "NavController", "SystemController"]
    /// The actions that built-in kinds handle.
    static let actions: Set<String> = ["openController", "showAlert", "submit"]
    /// The properties without which a view shows nothing.
    static let requiredProperties: [String: [String]] = [
        "ListView": ["items_model", "row_view"], "TextField": ["field"], "Toggle": ["field"],
        "Picker": ["field", "options"], "DatePicker": ["field"],
    ]

    static let viewProperties: [String: Property] = [
        "name": .structure, "kind": .structure, "contents": .structure, "actions": .structure, "fallback": .structure,
        "requires": .structure,
        "before": .structure, "hidden": .flag, "orientation": .orientation, "background_color": .color,
        "top": .distance, "left": .distance, "right": .distance, "bottom": .distance, "width": .length,
        "height": .length,
        "text": .text, "text_color": .color, "text_font": .text, "text_size": .size, "text_lines": .count,
        "title": .text, "url": .url, "items_model": .model, "row_view": .view,
        "field": .text, "value": .value, "placeholder": .text, "secure": .flag, "keyboard": .text, "options": .value,
        "mode": .text, "minimum": .text, "maximum": .text, "min_length": .count, "max_length": .count,
        "required": .flag,
        "validation": .value, "message": .text, "submit_model": .model, "place": .value, "latitude": .degrees,
        "longitude": .degrees,
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
