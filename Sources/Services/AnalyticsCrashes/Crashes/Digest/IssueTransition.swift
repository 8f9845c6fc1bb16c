import Foundation

/// A release with what is needed to compare it.
struct Release: Sendable, Hashable {
    let id: Int32
    /// Nil if the name contains no version number.
    let sortKey: String?
    let firstSeen: Date
    /// The part of the name before `@`. Versions of different packages are not comparable.
    let package: String

    init(id: Int32, name: String, sortKey: String?, firstSeen: Date) {
        (self.id, self.sortKey, self.firstSeen) = (id, sortKey, firstSeen)
        package = name.lastIndex(of: "@").map { String(name[..<$0]) } ?? ""
    }

    /// Compares by version if both have one and belong to the same package, otherwise by which was seen first.
    /// `ReleaseOrder` does the same in SQL.
    func isNewer(than other: Release) -> Bool {
        guard id != other.id else { return false }
        if let sortKey, let otherKey = other.sortKey, package == other.package {
            return otherKey.utf8.lexicographicallyPrecedes(sortKey.utf8)
        }
        return firstSeen > other.firstSeen
    }
}

/// The effect of a report on its issue.
struct IssueTransition: Sendable, Equatable {
    enum Change: String, Sendable {
        /// The issue was resolved and has reappeared in a newer release.
        case regressed
        /// The issue was ignored, and its time or threshold has been reached.
        case unignored
    }

    var status: String
    var resolvedIn: Release?
    /// When the issue got its status.
    var changed: Date
    var events: Int
    var ignoredUntil: Date?
    var ignoredUntilEvents: Int?

    /// Counts a report.
    ///
    /// - Parameters:
    ///   - release: The report's release.
    ///   - date: When the report occurred.
    /// - Returns: The change of status that the report causes; nil if there is none.
    mutating func take(_ release: Release?, at date: Date, now: Date) -> Change? {
        events += 1
        switch status {
        case "resolved" where isRegression(release, date): return becomeUnresolved(.regressed)
        case "ignored"
        where ignoredUntilEvents.map({ events >= $0 }) ?? false || ignoredUntil.map({ now >= $0 }) ?? false:
            return becomeUnresolved(.unignored)
        default: return nil
        }
    }

    /// Reports of the release in which the issue was resolved, and of older ones, may still arrive.
    private func isRegression(_ release: Release?, _ date: Date) -> Bool {
        guard let resolvedIn, let release else { return date > changed }
        return release.isNewer(than: resolvedIn)
    }

    private mutating func becomeUnresolved(_ change: Change) -> Change {
        status = "unresolved"
        return change
    }
}
