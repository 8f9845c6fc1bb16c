import MartletCore

/// The members of an object of a catalogue, all of them known.
struct Fields {
    /// The object's JSON pointer.
    let place: String
    private let object: JSONValue

    /// - Throws: `LocalizationFault`.
    init(_ json: JSONValue, at place: String, known: Set<String>) throws {
        guard case .object(let members) = json else { throw LocalizationFault(place, "This must be an object.") }
        if let stranger = members.first(where: { !known.contains($0.name) }) {
            throw LocalizationFault(place + "/" + JSONPointer.escape(stranger.name), "This member is not known here.")
        }
        self.place = place
        self.object = json
    }

    subscript(name: String) -> JSONValue? { object[name] }

    func members(_ name: String) throws -> [JSONValue.Member]? {
        switch object[name] {
        case .object(let members): members
        case nil: nil
        default: throw LocalizationFault("\(place)/\(name)", "This must be an object.")
        }
    }

    func string(_ name: String, upTo limitInBytes: Int = 256) throws -> String? {
        switch object[name] {
        case .string(let text) where text.utf8.count <= limitInBytes: text
        case nil: nil
        default: throw LocalizationFault("\(place)/\(name)", "This must be a string of at most \(limitInBytes) bytes.")
        }
    }

    func flag(_ name: String) throws -> Bool? {
        switch object[name] {
        case .bool(let flag): flag
        case nil: nil
        default: throw LocalizationFault("\(place)/\(name)", "This must be true or false.")
        }
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        switch object[name] {
        case .number(let literal):
            guard let number = Int(literal), range.contains(number) else { fallthrough }
            return number
        case nil: return nil
        default:
            throw LocalizationFault(
                "\(place)/\(name)", "This must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
    }

    func language(_ name: String) throws -> LanguageTag {
        guard let text = try string(name) else { throw LocalizationFault("\(place)/\(name)", "This is required.") }
        return try tag(text, at: "\(place)/\(name)")
    }

    /// A length and a conversion: `lld`.
    func specifier(_ name: String) throws -> String? {
        guard let text = try string(name) else { return nil }
        guard case .placeholder(let placeholder)? = Segment.segments(of: "%" + text).first,
            placeholder.specifier == text
        else {
            throw LocalizationFault("\(place)/\(name)", "This must be what stands behind the % of a placeholder.")
        }
        return text
    }
}

func tag(_ text: String, at place: String) throws -> LanguageTag {
    guard let tag = LanguageTag(text) else {
        throw LocalizationFault(place, "\"\(text.prefix(40))\" is not a language tag such as de or pt-BR.")
    }
    return tag
}
