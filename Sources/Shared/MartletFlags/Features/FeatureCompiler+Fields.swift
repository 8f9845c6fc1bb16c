import MartletCore
import MartletFlagValues

/// Members by type: nil if missing; a member of another type is reported as an issue.
extension FeatureCompiler {
    mutating func text(_ json: JSONValue, _ name: String, _ path: String) -> String? {
        switch json[name] {
        case nil, .null: return nil
        case .string(let text): return text
        case let value?: return refuse(path.pointer(to: name), "Expected a string, found \(value.phrase).")
        }
    }

    mutating func boolean(_ json: JSONValue, _ name: String, _ path: String) -> Bool? {
        switch json[name] {
        case nil, .null: return nil
        case .bool(let truth): return truth
        case let value?: return refuse(path.pointer(to: name), "Expected true or false, found \(value.phrase).")
        }
    }

    mutating func number(_ json: JSONValue, _ name: String, _ path: String) -> Double? {
        guard let value = json[name], value != .null else { return nil }
        return number(value, path.pointer(to: name))
    }

    mutating func integer(_ json: JSONValue, _ name: String, _ path: String) -> Int? {
        guard let value = number(json, name, path) else { return nil }
        return Int(exactly: value)
            ?? refuse(path.pointer(to: name), "Expected a whole number, found \(json[name]?.phrase ?? "nothing").")
    }

    mutating func number(_ json: JSONValue, _ path: String) -> Double? {
        if case .number(let literal) = json, let number = Double(literal) { return number }
        return refuse(path, "Expected a number, found \(json.phrase).")
    }

    mutating func elements(_ json: JSONValue?, _ path: String) -> [JSONValue] {
        switch json {
        case nil, .null: return []
        case .array(let elements): return elements
        case let value?: return refuse(path, "Expected an array, found \(value.phrase).") ?? []
        }
    }

    mutating func members(_ json: JSONValue?, _ path: String) -> [JSONValue.Member] {
        switch json {
        case nil, .null: return []
        case .object(let members): return members
        case let value?: return refuse(path, "Expected an object, found \(value.phrase).") ?? []
        }
    }

    mutating func numbers(_ json: JSONValue?, _ path: String) -> [Double]? {
        guard let json, json != .null else { return nil }
        return elements(json, path).enumerated().compactMap { number($1, path.pointer(to: $0)) }
    }

    mutating func ranges(_ json: JSONValue?, _ path: String) -> [BucketRange]? {
        guard let json, json != .null else { return nil }
        return elements(json, path).enumerated().compactMap { range($1, path.pointer(to: $0)) }
    }

    mutating func range(_ json: JSONValue, _ path: String) -> BucketRange? {
        guard let ends = numbers(json, path), ends.count == 2 else {
            return refuse(path, "Expected an array of two numbers.")
        }
        return BucketRange(ends[0], ends[1])
    }

    /// `[name, start, end]`
    mutating func namespace(_ json: JSONValue?, _ path: String) -> Namespace? {
        guard let json, json != .null else { return nil }
        let parts = elements(json, path)
        guard parts.count == 3, case .string(let name) = parts[0], let start = number(parts[1], path),
            let end = number(parts[2], path)
        else {
            return refuse(path, "Expected an array of a name and two numbers.")
        }
        return Namespace(name, BucketRange(start, end))
    }

    mutating func filters(_ json: JSONValue, _ path: String) -> [BucketFilter]? {
        guard let list = json["filters"], list != .null else { return nil }
        let path = path.pointer(to: "filters")
        return elements(list, path).enumerated().map { index, filter in
            let path = path.pointer(to: index)
            return BucketFilter(
                seed: text(filter, "seed", path) ?? "",
                ranges: ranges(filter["ranges"], path.pointer(to: "ranges")) ?? [],
                attribute: text(filter, "attribute", path) ?? "id",
                hash: FlagHash(rawValue: integer(filter, "hashVersion", path) ?? 2))
        }
    }

    private mutating func refuse<Value>(_ path: String, _ message: String) -> Value? {
        conditions.log.error("wrong-type", at: path, message)
        return nil
    }
}
