public import MartletAPI
import MartletCore

/// Combines the user data of several parts of a service, processed one after the other.
public struct UserDataParts: UserDataHolder {
    /// The names must never change, because cursors contain them.
    private let parts: [(name: String, holder: any UserDataHolder)]

    public init(parts: [(name: String, holder: any UserDataHolder)]) {
        self.parts = parts
    }

    public func erase(_ request: UserDataRequest) async throws -> UserErasure {
        let (index, request) = try part(request)
        let erasure = try await parts[index].holder.erase(request)
        return UserErasure(erased: erasure.erased, next: next(erasure.next, after: index))
    }

    public func export(_ request: UserDataRequest) async throws -> UserDataPortion {
        let (index, request) = try part(request)
        let portion = try await parts[index].holder.export(request)
        return UserDataPortion(lines: portion.lines, next: next(portion.next, after: index))
    }

    /// The part that the cursor refers to, and the request for it.
    private func part(_ request: UserDataRequest) throws -> (Int, UserDataRequest) {
        guard let after = request.after else { return (0, request) }
        let place = after.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard place.count == 2, let index = parts.firstIndex(where: { $0.name == place[0] }) else {
            throw ServiceError(.invalidBody, "This cursor did not come from an earlier answer.", field: "after")
        }
        var request = request
        request.after = place[1].isEmpty ? nil : String(place[1])
        return (index, request)
    }

    /// The next cursor: in the same part, or at the start of the following one.
    private func next(_ next: String?, after index: Int) -> String? {
        if let next { return parts[index].name + ":" + next }
        return index + 1 < parts.count ? parts[index + 1].name + ":" : nil
    }
}
