import MartletCore

/// The members of an object in a catalogue's JSON, all of which are known.
struct Fields {
    /// The object's JSON pointer.
    let place: String
    private let object: JSONValue

    /// - Throws: `LocalizationFault` if `json` is not an object or has an unknown member.
    init(_ json: JSONValue, at place: String, known: Set<String>) throws {
        guard case .object(let members) = json else {
            throw LocalizationFault(place, "Expected an object, found \(json.phrase).")
        }
        if let unknown = members.first(where: { !known.contains($0.name) }) {
            throw LocalizationFault(place + "/" + JSONPointer.escape(unknown.name), "This member is unknown here.")
        }
        self.place = place
        self.object = json
    }

    subscript(name: String) -> JSONValue? { object[name] }

    func members(_ name: String) throws -> [JSONValue.Member]? {
        switch object[name] {
        case .object(let members): members
        case nil: nil
        case let value?: throw LocalizationFault("\(place)/\(name)", "Expected an object, found \(value.phrase).")
        }
    }

    func string(_ name: String, upTo limitInBytes: Int = 256) throws -> String? {
        switch object[name] {
        case .string(let text) where text.utf8.count <= limitInBytes: text
        case nil: nil
        case .string(let text)?:
            throw LocalizationFault(
                "\(place)/\(name)", "Expected at most \(limitInBytes) bytes, found \(text.utf8.count).")
        case let value?: throw LocalizationFault("\(place)/\(name)", "Expected a string, found \(value.phrase).")
        }
    }

    func flag(_ name: String) throws -> Bool? {
        switch object[name] {
        case .bool(let flag): flag
        case nil: nil
        case let value?: throw LocalizationFault("\(place)/\(name)", "Expected true or false, found \(value.phrase).")
        }
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let value = object[name] else { return nil }
        guard case .number(let literal) = value, let number = Int(literal), range.contains(number) else {
            let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            throw LocalizationFault("\(place)/\(name)", "Expected \(expected), found \(value.phrase).")
        }
        return number
    }

    func language(_ name: String) throws -> LanguageTag {
        guard let text = try string(name) else { throw LocalizationFault("\(place)/\(name)", "This is required.") }
        return try tag(text, at: "\(place)/\(name)")
    }

    /// A length and conversion, such as `lld`.
    func specifier(_ name: String) throws -> String? {
        guard let text = try string(name) else { return nil }
        guard case .placeholder(let placeholder)? = Segment.segments(of: "%" + text).first,
            placeholder.specifier == text
        else {
            throw LocalizationFault(
                "\(place)/\(name)", "Expected the part of a placeholder after its %, such as lld.")
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
