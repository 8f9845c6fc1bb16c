import MartletAPI
import MartletCore
import MartletTesting

extension Answer {
    /// Whether this is a refusal as JSON with nothing but `detail`, the only form whose text `sentry-cli` shows.
    func isSentryRefusal(_ code: ErrorCode, field: String? = nil) -> Bool {
        guard status == code.status, header("content-type")?.hasPrefix("application/json") == true,
            case .object(let members) = try? JSONValue(parsing: text.utf8), members.map(\.name) == ["detail"],
            case .string(let words) = members[0].value
        else { return false }
        return !words.isEmpty && (field == nil || words.hasSuffix("(\(field ?? ""))"))
    }
}
