#if canImport(UIKit) && !os(watchOS) && !os(tvOS)
import CoreLocation
import MapKit
public import MartletKit
public import UIKit

// Not compiled on Linux, where this project is built and tested. The logic is in DefinitionNode and DefinitionForm.

/// Shows definitions as UIKit views.
///
/// ```swift
/// let renderer = UIKitDefinitionRenderer(server: configuration) { actions in
///     Task { for outcome in try await definition.perform(actions) { show(outcome) } }
/// }
/// scrollView.addSubview(renderer.render(screen.root))
/// ```
@MainActor
public final class UIKitDefinitionRenderer: @MainActor DefinitionRenderer {
    public typealias CustomView = @MainActor (_ node: DefinitionNode, _ contents: [UIView]) -> UIView

    /// The app's own kinds.
    public var views: [String: CustomView] = [:]
    /// Loads pictures. By default with `URLSession.shared`.
    public var loadImage: @MainActor (URL) async -> UIImage? = { url in
        guard let (data, _) = try? await URLSession.shared.data(from: url) else { return nil }
        return UIImage(data: data)
    }
    private let addresses: HTMLDefinitionRenderer
    private let perform: @MainActor ([DefinitionAction]) -> Void

    /// - Parameters:
    ///   - server: The server to which paths of pictures belong.
    ///   - perform: Called with a view's actions when the user taps on it.
    public init(server: Martlet.Configuration, perform: @escaping @MainActor ([DefinitionAction]) -> Void) {
        addresses = HTMLDefinitionRenderer(server: server)
        self.perform = perform
    }

    public func output(for node: DefinitionNode, contents: [UIView]) -> UIView {
        let view = view(for: node, contents)
        if let color = node.color("background_color", own: true) { view.setBackgroundColor(color) }
        if !node.actions.isEmpty, !(view is UIButton) {
            let perform = perform
            view.addGestureRecognizer(TapRecognizer { perform(node.actions) })
            view.isUserInteractionEnabled = true
            view.accessibilityTraits.insert(.button)
        }
        return framed(view, node)
    }

    private func view(for node: DefinitionNode, _ contents: [UIView]) -> UIView {
        if let custom = views[node.kind] { return custom(node, contents) }
        switch node.kind {
        case "LabelView": return label(node)
        case "ButtonView": return button(node)
        case "ImageView": return image(node)
        case "TextField", "Toggle", "Picker", "DatePicker": return input(node)
        case "MapView": return map(node)
        default: return stack(contents, isHorizontal: node.isHorizontal)
        }
    }

    // MARK: Views

    private func stack(_ contents: [UIView], isHorizontal: Bool) -> UIStackView {
        let stack = UIStackView(arrangedSubviews: contents)
        stack.axis = isHorizontal ? .horizontal : .vertical
        return stack
    }

    private func label(_ node: DefinitionNode) -> UILabel {
        let label = UILabel()
        label.text = node.text("text")
        label.numberOfLines = node.argument("text_lines")?.intValue ?? 0
        label.setFont(name: node.argument("text_font")?.stringValue, size: node.number("text_size") ?? 16, weight: nil)
        if let color = node.color("text_color") { label.setTextColor(color) }
        return label
    }

    private func button(_ node: DefinitionNode) -> UIButton {
        let button = UIButton(type: .system)
        button.setTitle(node.text("title"), for: .normal)
        let perform = perform
        button.addAction(UIAction { _ in perform(node.actions) }, for: .touchUpInside)
        return button
    }

    private func image(_ node: DefinitionNode) -> UIImageView {
        let view = UIImageView()
        view.contentMode = .scaleAspectFill
        view.clipsToBounds = true
        guard let url = addresses.address(node.text("url")) else { return view }
        Task { [loadImage] in view.image = await loadImage(url) }
        return view
    }

    private func map(_ node: DefinitionNode) -> MKMapView {
        let map = MKMapView()
        // A map has no size of its own. The definition's height takes precedence.
        let height = map.heightAnchor.constraint(equalToConstant: 200)
        height.priority = .defaultLow
        height.isActive = true
        guard let place = node.place else { return map }
        let pin = MKPointAnnotation()
        pin.coordinate = CLLocationCoordinate2D(latitude: place.latitude, longitude: place.longitude)
        pin.title = node.text("title")
        map.addAnnotation(pin)
        map.region = MKCoordinateRegion(center: pin.coordinate, latitudinalMeters: 1_000, longitudinalMeters: 1_000)
        return map
    }

    // MARK: Inputs

    // Controls retain their actions, so the actions must not retain the controls.

    private func input(_ node: DefinitionNode) -> UIView {
        let title = UILabel()
        title.text = node.own("title")?.shownText
        let problem = UILabel()
        problem.textColor = .systemRed
        problem.numberOfLines = 0
        problem.text = node.field.flatMap { node.form?.problems[$0] }
        return stack([title, control(node), problem].filter { ($0 as? UILabel)?.text != "" }, isHorizontal: false)
    }

    private func control(_ node: DefinitionNode) -> UIView {
        let (form, field) = (node.form, node.field ?? "")
        switch node.kind {
        case "Toggle":
            let control = UISwitch()
            control.isOn = form?[field] == true
            control.addAction(
                UIAction { [weak control] _ in form?[field] = .bool(control?.isOn ?? false) }, for: .valueChanged)
            return control
        case "Picker": return picker(node, form, field)
        case "DatePicker": return datePicker(node, form, field)
        default: return textField(node, form, field)
        }
    }

    private func textField(_ node: DefinitionNode, _ form: DefinitionForm?, _ field: String) -> UITextField {
        let control = UITextField()
        control.borderStyle = .roundedRect
        control.text = form?[field]?.shownText
        control.placeholder = node.own("placeholder")?.shownText
        control.isSecureTextEntry = node.own("secure")?.boolValue ?? false
        let keyboards = ["email": "emailAddress", "number": "decimalPad", "phone": "phonePad", "url": "URL"]
        control.setKeyboardType(keyboards[node.own("keyboard")?.stringValue ?? ""] ?? "default")
        control.addAction(
            UIAction { [weak control] _ in form?[field] = .string(control?.text ?? "") }, for: .editingChanged)
        return control
    }

    private func picker(_ node: DefinitionNode, _ form: DefinitionForm?, _ field: String) -> UIButton {
        let button = UIButton(type: .system)
        let chosen = node.options.first { $0.value == form?[field] }
        button.setTitle(chosen?.title ?? "–", for: .normal)
        button.showsMenuAsPrimaryAction = true
        button.menu = UIMenu(
            children: node.options.map { option in
                UIAction(title: option.title) { [weak button] _ in
                    form?[field] = option.value
                    button?.setTitle(option.title, for: .normal)
                }
            })
        return button
    }

    private func datePicker(_ node: DefinitionNode, _ form: DefinitionForm?, _ field: String) -> UIDatePicker {
        let control = UIDatePicker()
        let mode = node.own("mode")?.stringValue
        control.datePickerMode = mode == "time" ? .time : mode == "date_time" ? .dateAndTime : .date
        // Dates and times of day have no time zone; the form has them in UTC.
        if mode != "date_time" { control.timeZone = TimeZone(identifier: "UTC") }
        func date(_ json: JSON?) -> Date? { json?.stringValue.flatMap { DefinitionForm.date($0, mode: mode) } }
        control.minimumDate = date(node.own("minimum"))
        control.maximumDate = date(node.own("maximum"))
        if let date = date(form?[field]) { control.date = date }
        control.addAction(
            UIAction { [weak control] _ in
                form?[field] = control.map { JSON.string(DefinitionForm.text($0.date, mode: mode)) }
            }, for: .valueChanged)
        return control
    }

    // MARK: Place and size

    /// The view with its margins and size.
    private func framed(_ view: UIView, _ node: DefinitionNode) -> UIView {
        func points(_ name: String) -> CGFloat { node.points(name).map { CGFloat($0) } ?? 0 }
        let frame = UIView()
        frame.addSubview(view)
        view.translatesAutoresizingMaskIntoConstraints = false
        var constraints = [
            view.topAnchor.constraint(equalTo: frame.topAnchor, constant: points("top")),
            view.leadingAnchor.constraint(equalTo: frame.leadingAnchor, constant: points("left")),
            frame.trailingAnchor.constraint(equalTo: view.trailingAnchor, constant: points("right")),
            frame.bottomAnchor.constraint(equalTo: view.bottomAnchor, constant: points("bottom")),
        ]
        if let width = node.points("width", least: 0) {
            constraints.append(view.widthAnchor.constraint(equalToConstant: CGFloat(width)))
        }
        if let height = node.points("height", least: 0) {
            constraints.append(view.heightAnchor.constraint(equalToConstant: CGFloat(height)))
        }
        // Slightly below required, so that a stack that is too small takes precedence without a warning.
        constraints.forEach { $0.priority = UILayoutPriority(999) }
        NSLayoutConstraint.activate(constraints)
        let fills: [(String, NSLayoutConstraint.Axis)] = [("width", .horizontal), ("height", .vertical)]
        for (name, axis) in fills where node.own(name)?.stringValue == "fill" {
            frame.setContentHuggingPriority(.fittingSizeLevel, for: axis)
        }
        return frame
    }
}

@MainActor
private final class TapRecognizer: UITapGestureRecognizer {
    private let action: @MainActor () -> Void

    init(_ action: @escaping @MainActor () -> Void) {
        self.action = action
        super.init(target: nil, action: nil)
        addTarget(self, action: #selector(tapped))
    }

    @objc private func tapped() { action() }
}
#endif
