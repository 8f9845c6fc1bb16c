#if canImport(UIKit) && !os(watchOS)
public import UIKit

// Not compiled on Linux, where this project is built and tested. The logic is in ElementProperties.

extension UIColor {
    public convenience init(_ color: RemoteColor) {
        self.init(red: color.red, green: color.green, blue: color.blue, alpha: color.alpha)
    }
}

extension UIView: ViewElement {
    public func setBackgroundColor(_ color: RemoteColor) { backgroundColor = UIColor(color) }
    public func setTintColor(_ color: RemoteColor) { tintColor = UIColor(color) }
    public func setBorder(color: RemoteColor?, width: Double?) {
        if let color { layer.borderColor = UIColor(color).cgColor }
        if let width { layer.borderWidth = width }
    }
    public func setCornerRadius(_ points: Double) { layer.cornerRadius = points }
    public func setAlpha(_ alpha: Double) { self.alpha = alpha }
    public func setHidden(_ isHidden: Bool) { self.isHidden = isHidden }
    public func setAccessibility(label: String?, hint: String?, identifier: String?) {
        if let label { accessibilityLabel = label }
        if let hint { accessibilityHint = hint }
        if let identifier { accessibilityIdentifier = identifier }
    }
}

extension UILabel: LabelElement {
    public func setText(_ text: String) { self.text = text }
    public func setTextColor(_ color: RemoteColor) { textColor = UIColor(color) }
    public func setFont(name: String?, size: Double?, weight: String?) {
        font = UIFont.remote(name, size, weight, instead: font)
    }
    public func setTextAlignment(_ alignment: String) { textAlignment = NSTextAlignment(remote: alignment) }
    public func setNumberOfLines(_ lines: Int) { numberOfLines = lines }
}

extension UITextView: TextElement {
    public func setText(_ text: String) { self.text = text }
    public func setTextColor(_ color: RemoteColor) { textColor = UIColor(color) }
    public func setFont(name: String?, size: Double?, weight: String?) {
        font = UIFont.remote(name, size, weight, instead: font)
    }
    public func setTextAlignment(_ alignment: String) { textAlignment = NSTextAlignment(remote: alignment) }
}

/// Buttons, fields, switches, sliders and all other controls.
extension UIControl: ControlElement {
    public func setEnabled(_ isEnabled: Bool) { self.isEnabled = isEnabled }
}

extension UITextField: FieldElement {
    public func setText(_ text: String) { self.text = text }
    public func setTextColor(_ color: RemoteColor) { textColor = UIColor(color) }
    public func setFont(name: String?, size: Double?, weight: String?) {
        font = UIFont.remote(name, size, weight, instead: font)
    }
    public func setTextAlignment(_ alignment: String) { textAlignment = NSTextAlignment(remote: alignment) }
    public func setPlaceholder(_ text: String) { placeholder = text }
    public func setSecure(_ isSecure: Bool) { isSecureTextEntry = isSecure }
    public func setKeyboardType(_ type: String) {
        let types: [String: UIKeyboardType] = [
            "asciiCapable": .asciiCapable, "numbersAndPunctuation": .numbersAndPunctuation, "URL": .URL,
            "numberPad": .numberPad, "phonePad": .phonePad, "namePhonePad": .namePhonePad,
            "emailAddress": .emailAddress, "decimalPad": .decimalPad, "twitter": .twitter, "webSearch": .webSearch,
            "asciiCapableNumberPad": .asciiCapableNumberPad,
        ]
        keyboardType = types[type] ?? .default
    }
}

extension UIButton: TextElement {
    public func setText(_ text: String) { setTitle(text, for: .normal) }
    public func setTextColor(_ color: RemoteColor) { setTitleColor(UIColor(color), for: .normal) }
    public func setFont(name: String?, size: Double?, weight: String?) {
        titleLabel?.setFont(name: name, size: size, weight: weight)
    }
    public func setTextAlignment(_ alignment: String) { titleLabel?.setTextAlignment(alignment) }
}

extension UIImageView: ImageElement {
    public func setImage(_ name: String) { image = UIImage(named: name) ?? image }
    public func setSystemImage(_ name: String) { image = UIImage(systemName: name) ?? image }
}

#if !os(tvOS)
extension UISwitch: SwitchElement {
    public func setOn(_ isOn: Bool) { self.isOn = isOn }
}

// Since iOS 15, a bar shows the colours of its appearance.

extension UINavigationBar: BarElement {
    public func setBarTintColor(_ color: RemoteColor) { changeAppearance { $0.backgroundColor = UIColor(color) } }
    public func setTitleColor(_ color: RemoteColor) {
        changeAppearance {
            $0.titleTextAttributes[.foregroundColor] = UIColor(color)
            $0.largeTitleTextAttributes[.foregroundColor] = UIColor(color)
        }
    }

    private func changeAppearance(_ change: (UINavigationBarAppearance) -> Void) {
        let appearance = standardAppearance
        change(appearance)
        standardAppearance = appearance
        scrollEdgeAppearance = appearance
    }
}

extension UITabBar: BarElement {
    public func setBarTintColor(_ color: RemoteColor) {
        let appearance = standardAppearance
        appearance.backgroundColor = UIColor(color)
        standardAppearance = appearance
        scrollEdgeAppearance = appearance
    }
    public func setTitleColor(_ color: RemoteColor) {}
}

extension UIToolbar: BarElement {
    public func setBarTintColor(_ color: RemoteColor) {
        let appearance = standardAppearance
        appearance.backgroundColor = UIColor(color)
        standardAppearance = appearance
        scrollEdgeAppearance = appearance
    }
    public func setTitleColor(_ color: RemoteColor) {}
}
#endif

extension UIFont {
    fileprivate static func remote(_ name: String?, _ size: Double?, _ weight: String?, instead old: UIFont?) -> UIFont
    {
        let points = size.map { CGFloat($0) } ?? old?.pointSize ?? UIFont.labelFontSize
        if let name, let font = UIFont(name: name, size: points) { return font }
        let weights: [String: UIFont.Weight] = [
            "ultraLight": .ultraLight, "thin": .thin, "light": .light, "regular": .regular, "medium": .medium,
            "semibold": .semibold, "bold": .bold, "heavy": .heavy, "black": .black,
        ]
        if let weight = weight.flatMap({ weights[$0] }) { return .systemFont(ofSize: points, weight: weight) }
        return old?.withSize(points) ?? .systemFont(ofSize: points)
    }
}

extension NSTextAlignment {
    fileprivate init(remote name: String) {
        switch name {
        case "left": self = .left
        case "center": self = .center
        case "right": self = .right
        case "justified": self = .justified
        default: self = .natural
        }
    }
}
#endif
