import MartletPlurals

/// The texts of a key in one language.
public struct Localization: Sendable, Equatable {
    /// A number inside a text that has forms of its own. The text contains `%#@name@` where it is inserted; its forms
    /// contain `%arg` for the number.
    public struct Substitution: Sendable, Equatable {
        public var name: String
        /// The position of the argument, from 1; nil for the next one.
        public var argumentNumber: Int?
        /// The argument's type without the `%`, such as `lld`.
        public var formatSpecifier: String?
        public var text: Text

        /// The argument as a placeholder, such as `%2$lld`.
        var argument: String? {
            guard argumentNumber != nil || formatSpecifier != nil else { return nil }
            return "%" + (argumentNumber.map { "\($0)$" } ?? "") + (formatSpecifier ?? "")
        }
    }

    public var text: Text
    /// Sorted by name.
    public internal(set) var substitutions: [Substitution] = []

    public init(_ text: Text) {
        self.text = text
    }

    init(_ text: Text, substitutions: [Substitution]) {
        self.text = text
        self.substitutions = substitutions.sorted { $0.name < $1.name }
    }
}

/// A single text, or a set of forms.
public indirect enum Text: Sendable, Equatable {
    case unit(Unit)
    case varied(by: Axis, [Form])

    public struct Form: Sendable, Equatable {
        /// The form's name, such as `few`, `iphone` or `20`.
        public var name: String
        public var text: Text

        public init(_ name: String, _ text: Text) {
            self.name = name
            self.text = text
        }
    }

    /// Forms in the order of their axis.
    static func forms(_ forms: [Form], by axis: Axis) -> Text { .varied(by: axis, axis.sorted(forms)) }

    /// The property by which a form is chosen.
    public enum Axis: String, CaseIterable, Sendable {
        /// A number, by `PluralCategory`.
        case plural
        /// `iphone`, `ipad`, `ipod`, `mac`, `applewatch`, `appletv`, `applevision`, `other`.
        case device
        /// The available width, in points or characters.
        case width

        private static let devices: Set<String> = [
            "iphone", "ipad", "ipod", "mac", "applewatch", "appletv", "applevision", "other",
        ]

        /// The forms in canonical order: CLDR's order for plurals, otherwise by name; `other` last.
        func sorted(_ forms: [Form]) -> [Form] {
            forms.sorted { left, right in
                guard self == .plural, let left = PluralCategory(rawValue: left.name),
                    let right = PluralCategory(rawValue: right.name)
                else {
                    return left.name != "other" && (right.name == "other" || left.name < right.name)
                }
                return left < right
            }
        }

        func allows(_ form: String) -> Bool {
            switch self {
            case .plural: PluralCategory(rawValue: form) != nil
            case .device: Self.devices.contains(form)
            case .width: (1...6).contains(form.utf8.count) && form.utf8.allSatisfy { (0x30...0x39).contains($0) }
            }
        }
    }
}

/// A piece of text that is translated as a whole.
public struct Unit: Sendable, Equatable {
    /// The progress of the translation. A `new` text counts as missing: clients get the fallback's text.
    public enum State: String, CaseIterable, Sendable {
        case new, translated
        case needsReview = "needs_review"
    }

    public var state: State
    public var value: String

    public init(_ value: String, _ state: State = .translated) {
        self.value = value
        self.state = state
    }

    /// Whether clients receive it.
    public var isUsable: Bool { state != .new && !value.isEmpty }
}
