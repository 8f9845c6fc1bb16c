import Foundation
import MartletCore
import MartletFlagValues
import MartletPatterns

extension FirebaseExpression {
    mutating func element() throws(FirebaseExpressionError) -> JSONValue {
        let name = try word()
        switch name {
        case "true": return .object([])
        case "false": return .attribute("$not", .object([]))
        case "percent": return try percent()
        case "dateTime": return try time("now")
        case "firebaseInstallationId": return try membership("id")
        case "device", "app":
            try expect(".")
            return try element(of: name, try word())
        default: throw FirebaseExpressionError("\(name) is not supported.")
        }
    }

    private mutating func element(of owner: String, _ name: String) throws(FirebaseExpressionError) -> JSONValue {
        switch "\(owner).\(name)" {
        case "device.os": return try equality("platform")
        case "device.country": return try membership("country", ignoringCase: true)
        case "device.language": return try languages()
        case "device.dateTime": return try time("now")
        case "app.version": return try text("appVersion", isVersion: true)
        case "app.build": return try text("appBuild", isVersion: true)
        case "app.id": return try equality("appId")
        case "app.firstOpenTimestamp": return try time("firstOpen")
        case "app.firebaseInstallationId": return try membership("id")
        case "app.userProperty", "app.customSignal":
            try expect("[")
            let key = try text()
            try expect("]")
            guard !key.contains("."), !key.hasPrefix("$") else {
                throw FirebaseExpressionError("The key \(key) is not supported.")
            }
            return try text("\(name).\(key)", isVersion: false)
        case "app.audiences": throw FirebaseExpressionError("Google Analytics audiences are not supported.")
        default: throw FirebaseExpressionError("\(owner).\(name) is not supported.")
        }
    }

    /// Parses `== 'ios'`.
    private mutating func equality(_ attribute: String) throws(FirebaseExpressionError) -> JSONValue {
        if take(.word("in")) { return .attribute(attribute, .attribute("$in", .array(try list()))) }
        switch try comparison() {
        case "==": return .attribute(attribute, .attribute("$eq", try literal()))
        case "!=": return .attribute(attribute, .attribute("$ne", try literal()))
        case let other: throw FirebaseExpressionError("Expected == or != after \(attribute), found \(other).")
        }
    }

    /// Parses `in ['a', 'b']`.
    private mutating func membership(_ attribute: String, ignoringCase: Bool = false) throws(FirebaseExpressionError)
        -> JSONValue
    {
        guard take(.word("in")) else {
            throw FirebaseExpressionError("Expected in before \(next?.description ?? "the end").")
        }
        return .attribute(attribute, .attribute(ignoringCase ? "$ini" : "$in", .array(try list())))
    }

    /// A language includes its regional variants: `en` also matches `en-GB` (RFC 4647 §3.3.1).
    private mutating func languages() throws(FirebaseExpressionError) -> JSONValue {
        guard take(.word("in")) else {
            throw FirebaseExpressionError("Expected in before \(next?.description ?? "the end").")
        }
        let tags = try list().map { TextPattern.literal(FlagValue($0).text) }
        return .attribute("language", .attribute("$regexi", .string("^(\(tags.joined(separator: "|")))(-|$)")))
    }

    /// Parses `<= 10`, `('seed') <= 10` or `between 0 and 20`.
    private mutating func percent() throws(FirebaseExpressionError) -> JSONValue {
        var seed = ""
        if take(.sign("(")) {
            seed = try text()
            try expect(")")
        }
        var members: [JSONValue.Member] = [.init("hash", .string("sha256")), .init("seed", .string(seed))]
        if take(.word("between")) {
            members.append(.init("from", .number(try number())))
            guard take(.word("and")) else {
                throw FirebaseExpressionError("Expected and before \(next?.description ?? "the end").")
            }
            members.append(.init("to", .number(try number())))
        } else {
            switch try comparison() {
            case "<=": members.append(.init("to", .number(try number())))
            case ">": members.append(.init("from", .number(try number())))
            case let other: throw FirebaseExpressionError("Expected <=, > or between after percent, found \(other).")
            }
        }
        return .attribute("$percent", .object(members))
    }

    /// Parses `>= dateTime('2026-01-01T00:00:00', 'Europe/Zurich')`, with or without `dateTime`. The default time zone
    /// is GMT.
    private mutating func time(_ attribute: String) throws(FirebaseExpressionError) -> JSONValue {
        let sign = try comparison()
        _ = take(.word("dateTime"))
        try expect("(")
        let text = try text()
        let zone = take(.sign(",")) ? try self.text() : "GMT"
        try expect(")")
        guard let timeZone = TimeZone(iana: zone) else {
            throw FirebaseExpressionError("The time zone \(zone) is unknown.")
        }
        let style = Date.ISO8601FormatStyle(timeZone: timeZone).year().month().day().dateTimeSeparator(.standard).time(
            includingFractionalSeconds: false)
        let local = text.hasSuffix("Z") ? String(text.dropLast()) : text
        // The format style accepts 30 February as 2 March, so the date is checked first.
        guard local.utf8.count == 19, Date(rfc3339: local + "Z") != nil, let date = try? Date(local, strategy: style)
        else {
            throw FirebaseExpressionError("Expected a time such as 2026-12-24T18:00:00, found \(text).")
        }
        let instant = JSONValue.string(date.formatted(.iso8601))
        switch sign {
        case ">", ">=": return .attribute(attribute, .attribute("$after", instant))
        case "<", "<=": return .attribute(attribute, .attribute("$before", instant))
        default: throw FirebaseExpressionError("Expected <, <=, > or >= before a time, found \(sign).")
        }
    }

    /// Parses `.contains(['a'])`, `.>=(['1.2'])`, `>= 3` or `== 'x'`.
    private mutating func text(_ attribute: String, isVersion: Bool) throws(FirebaseExpressionError) -> JSONValue {
        guard take(.sign(".")) else { return try infix(attribute, isVersion: isVersion) }
        if case .sign? = next {
            let sign = try comparison()
            let values = try arguments()
            guard let value = values.first, values.count == 1 else {
                throw FirebaseExpressionError("\(sign) takes one value.")
            }
            return .attribute(attribute, .attribute(try Self.versionOperator(sign), Self.version(value)))
        }
        let method = try word()
        let values = try arguments()
        let test = JSONValue.attribute(attribute, try Self.test(method, values))
        return method == "notContains" ? .attribute("$not", test) : test
    }

    private mutating func infix(_ attribute: String, isVersion: Bool) throws(FirebaseExpressionError) -> JSONValue {
        let sign = try comparison()
        let value = try literal()
        if isVersion { return .attribute(attribute, .attribute(try Self.versionOperator(sign), Self.version(value))) }
        if case .number = value, sign == "==" { return .attribute(attribute, value) }
        let operators = ["==": "$eq", "!=": "$ne", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"]
        return .attribute(attribute, .attribute(operators[sign] ?? sign, value))
    }

    private mutating func arguments() throws(FirebaseExpressionError) -> [JSONValue] {
        try expect("(")
        let values = try list()
        try expect(")")
        return values
    }

    private static func test(_ method: String, _ values: [JSONValue]) throws(FirebaseExpressionError) -> JSONValue {
        let texts = values.map { FlagValue($0).text }
        switch method {
        case "exactlyMatches": return .attribute("$in", .array(texts.map(JSONValue.string)))
        case "contains", "notContains":
            return .attribute("$regex", .string("(\(texts.map(TextPattern.literal).joined(separator: "|")))"))
        case "matches": return .attribute("$regex", .string(texts.joined(separator: "|")))
        default: throw FirebaseExpressionError("The method \(method) is not supported.")
        }
    }

    private static func versionOperator(_ sign: String) throws(FirebaseExpressionError) -> String {
        guard let name = ["==": "$veq", "!=": "$vne", "<": "$vlt", "<=": "$vlte", ">": "$vgt", ">=": "$vgte"][sign]
        else {
            throw FirebaseExpressionError("\(sign) is not a version comparison.")
        }
        return name
    }

    private static func version(_ value: JSONValue) -> JSONValue { .string(FlagValue(value).text) }
}

extension JSONValue {
    fileprivate static func attribute(_ name: String, _ value: JSONValue) -> JSONValue { .object([.init(name, value)]) }
}

extension TextPattern {
    /// A pattern that matches `text` literally.
    static func literal(_ text: String) -> String {
        text.map { "\\^$.|?*+()[]{}".contains($0) ? "\\\($0)" : String($0) }.joined()
    }
}
