import MartletPlurals

/// The texts of a language, as the server returns them.
struct TextTable: Sendable {
    let language: String
    private let texts: [String: TextForm]
    /// The languages, by key, of texts taken from another language, whose plural rules they follow.
    private let origins: [String: String]

    init?(_ json: JSON) {
        guard let language = json["language"]?.stringValue, let strings = json["strings"]?.objectValue else {
            return nil
        }
        self.language = language
        texts = strings.compactMapValues { TextForm($0) }
        origins = (json["languages"]?.objectValue ?? [:]).compactMapValues(\.stringValue)
    }

    func text(_ key: String, _ arguments: [TextArgument]) -> String? {
        texts[key].map { $0.text(arguments, TextStyle(language: origins[key] ?? language)) }
    }
}

/// Determines which form of a text is chosen: the language, the kind of device, and a number.
struct TextStyle {
    let language: String
    /// The number of the form that is being resolved, for `%arg`.
    var number: TextArgument?

    init(language: String) { self.language = language }

    #if os(watchOS)
    static let device = "applewatch"
    #elseif os(tvOS)
    static let device = "appletv"
    #elseif os(macOS)
    static let device = "mac"
    #elseif os(iOS)
    static let device = "iphone"
    #else
    static let device = "other"
    #endif

    func category(of number: TextArgument, format: TextFormat.Specifier?) -> String {
        let shown = number.text(format, language: "en").filter { $0 != "+" && $0 != " " }
        guard let operands = PluralOperands(shown) else { return PluralCategory.other.rawValue }
        return (PluralRules.rules(for: language)?.category(of: operands) ?? .other).rawValue
    }
}

/// A text, or its forms by number, device or width, as in an Xcode string catalogue.
indirect enum TextForm: Sendable {
    case plain(TextFormat)
    case plural([String: TextForm])
    case device([String: TextForm])
    case width([String: TextForm])
    case substituting(TextForm, [Substitution])

    struct Substitution: Sendable {
        let name: String
        /// The argument's position, from 1; nil for the next one in order.
        let argument: Int?
        let format: TextFormat.Specifier?
        let form: TextForm
    }

    /// Nil if the value is not a text. Catalogues nest two or three levels.
    init?(_ json: JSON, depth: Int = 0) {
        guard depth < 8 else { return nil }
        if let text = json.stringValue ?? json["value"]?.stringValue, json["substitutions"] == nil {
            self = .plain(TextFormat(text))
            return
        }
        if let list = json["substitutions"]?.objectValue {
            var rest = json
            rest["substitutions"] = nil
            guard let form = TextForm(rest, depth: depth + 1) else { return nil }
            let substitutions = list.compactMap { name, value -> Substitution? in
                guard let form = TextForm(value, depth: depth + 1) else { return nil }
                let format = value["format"]?.stringValue.flatMap { TextFormat("%" + $0).specifiers.first }
                return Substitution(
                    name: name, argument: value["argument"]?.intValue.flatMap { (1...99).contains($0) ? $0 : nil },
                    format: format, form: form)
            }
            self = .substituting(form, substitutions)
            return
        }
        func forms(_ name: String) -> [String: TextForm]? {
            json[name]?.objectValue?.compactMapValues { TextForm($0, depth: depth + 1) }
        }
        if let forms = forms("plural") {
            self = .plural(forms)
        } else if let forms = forms("device") {
            self = .device(forms)
        } else if let forms = forms("width") {
            self = .width(forms)
        } else {
            return nil
        }
    }

    func text(_ arguments: [TextArgument], _ style: TextStyle) -> String {
        switch self {
        case .plain(let format):
            return format.text(arguments, style)
        case .plural(let forms):
            let number = style.number ?? arguments.first { $0.isNumber }
            let specifier = forms["other"]?.firstNumberSpecifier
            let category = number.map { style.category(of: $0, format: specifier) }
            return (category.flatMap { forms[$0] } ?? forms["other"])?.text(arguments, style) ?? ""
        case .device(let forms):
            return (forms[TextStyle.device] ?? forms["other"])?.text(arguments, style) ?? ""
        case .width(let forms):
            // Views choose by the width they have; a plain string has no limit.
            let widest = forms.max { (Int($0.key) ?? 0, $0.key) < (Int($1.key) ?? 0, $1.key) }
            return widest?.value.text(arguments, style) ?? ""
        case .substituting(let form, let substitutions):
            var next = 0
            return form.text(arguments, style).replacingSubstitutions { name in
                guard let found = substitutions.first(where: { $0.name == name }) else { return nil }
                let position = found.argument ?? next + 1
                next = position
                guard position > 0, position <= arguments.count else { return nil }
                var inner = style
                inner.number = arguments[position - 1]
                return found.form.text(arguments, inner).replacingNumber(
                    arguments[position - 1].text(found.format, language: style.language))
            }
        }
    }

    private var firstNumberSpecifier: TextFormat.Specifier? {
        switch self {
        case .plain(let format): format.specifiers.first { $0.isNumber }
        case .plural(let forms), .device(let forms), .width(let forms): forms["other"]?.firstNumberSpecifier
        case .substituting(let form, _): form.firstNumberSpecifier
        }
    }
}
