/// An element whose style can be set by remote configuration. UIKit's views conform; the app's own views, or those of
/// another toolkit, can be made to conform.
@MainActor public protocol ViewElement: AnyObject {
    func setBackgroundColor(_ color: RemoteColor)
    func setTintColor(_ color: RemoteColor)
    func setBorder(color: RemoteColor?, width: Double?)
    func setCornerRadius(_ points: Double)
    func setAlpha(_ alpha: Double)
    func setHidden(_ isHidden: Bool)
    func setAccessibility(label: String?, hint: String?, identifier: String?)
}

/// An element that shows a text.
@MainActor public protocol TextElement: ViewElement {
    func setText(_ text: String)
    func setTextColor(_ color: RemoteColor)
    /// - Parameter weight: `ultraLight` to `black`; nil leaves it unchanged, as for the other parameters.
    func setFont(name: String?, size: Double?, weight: String?)
    /// - Parameter alignment: `left`, `center`, `right`, `justified` or `natural`
    func setTextAlignment(_ alignment: String)
}

/// A text of several lines that is not edited.
@MainActor public protocol LabelElement: TextElement {
    func setNumberOfLines(_ lines: Int)
}

/// A text that the user can edit.
@MainActor public protocol FieldElement: TextElement {
    func setPlaceholder(_ text: String)
    func setSecure(_ isSecure: Bool)
    /// - Parameter type: `default`, `emailAddress`, `numberPad` and the like
    func setKeyboardType(_ type: String)
}

/// An element that can be enabled or disabled: a button, a switch, a slider.
@MainActor public protocol ControlElement: ViewElement {
    func setEnabled(_ isEnabled: Bool)
}

/// An element with a picture.
@MainActor public protocol ImageElement: ViewElement {
    /// - Parameter name: The name of an image in the app.
    func setImage(_ name: String)
    /// - Parameter name: The name of a system symbol.
    func setSystemImage(_ name: String)
}

/// A bar at an edge of the screen.
@MainActor public protocol BarElement: ViewElement {
    func setBarTintColor(_ color: RemoteColor)
    /// A bar without a title ignores it.
    func setTitleColor(_ color: RemoteColor)
}

/// An element that is on or off.
@MainActor public protocol SwitchElement: ControlElement {
    func setOn(_ isOn: Bool)
}

extension ElementProperties {
    /// Applies the properties that the configuration sets and the element supports. All others stay unchanged.
    ///
    /// - Parameter translate: Called with a text of the configuration, often the key of a translation. Returns the text
    ///   to show.
    @MainActor
    public func apply(to element: any ViewElement, translate: (String) -> String = { $0 }) {
        applyLooks(to: element)
        if let element = element as? any TextElement { applyText(to: element, translate) }
        if let element = element as? any ControlElement, let isEnabled = flag("isEnabled") {
            element.setEnabled(isEnabled)
        }
        if let element = element as? any SwitchElement, let isOn = flag("isOn") { element.setOn(isOn) }
        if let element = element as? any ImageElement {
            if let name = text("image") { element.setImage(name) }
            if let name = text("systemImage") { element.setSystemImage(name) }
        }
        if let element = element as? any BarElement {
            if let color = color("barTintColor") { element.setBarTintColor(color) }
            if let color = color("titleColor") { element.setTitleColor(color) }
        }
    }

    @MainActor
    private func applyLooks(to element: any ViewElement) {
        if let color = color("backgroundColor") { element.setBackgroundColor(color) }
        if let color = color("tintColor") { element.setTintColor(color) }
        let (borderColor, borderWidth) = (color("borderColor"), number("borderWidth"))
        if borderColor != nil || borderWidth != nil { element.setBorder(color: borderColor, width: borderWidth) }
        if let radius = number("cornerRadius") { element.setCornerRadius(radius) }
        if let alpha = number("alpha") { element.setAlpha(alpha) }
        if let isHidden = flag("isHidden") { element.setHidden(isHidden) }
        let (label, hint) = (text("accessibilityLabel"), text("accessibilityHint"))
        let identifier = text("accessibilityIdentifier")
        if label != nil || hint != nil || identifier != nil {
            element.setAccessibility(label: label, hint: hint, identifier: identifier)
        }
    }

    @MainActor
    private func applyText(to element: any TextElement, _ translate: (String) -> String) {
        if let text = text("text") ?? text("title") { element.setText(translate(text)) }
        if let color = color("textColor") ?? color("titleColor") { element.setTextColor(color) }
        let (name, size, weight) = (text("fontName") ?? text("font"), number("fontSize"), text("fontWeight"))
        if name != nil || size != nil || weight != nil { element.setFont(name: name, size: size, weight: weight) }
        if let alignment = text("textAlignment") { element.setTextAlignment(alignment) }
        if let element = element as? any LabelElement, let lines = integer("numberOfLines") {
            element.setNumberOfLines(lines)
        }
        if let element = element as? any FieldElement {
            if let placeholder = text("placeholder") { element.setPlaceholder(translate(placeholder)) }
            if let isSecure = flag("isSecureTextEntry") { element.setSecure(isSecure) }
            if let type = text("keyboardType") { element.setKeyboardType(type) }
        }
    }
}

extension Martlet {
    /// Applies the server's style to an element, and sets its text in the user's language.
    ///
    /// ```swift
    /// martlet.style(nameLabel, "className", of: "DayTableViewController")
    /// ```
    @MainActor
    public func style(_ element: any ViewElement, _ name: String, of controller: String) {
        remote.properties(of: name, in: controller).apply(to: element) { self.translations.text($0) }
    }
}
