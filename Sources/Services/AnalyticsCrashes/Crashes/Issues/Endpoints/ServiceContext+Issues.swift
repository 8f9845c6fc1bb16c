import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

extension ServiceContext {
    /// Authorizes the action and returns the space with the author of the change.
    ///
    /// - Throws: `forbidden`, `app-not-found`.
    func crashes(may action: StaffAction, _ spaces: Spaces) async throws -> (space: Space, author: Author) {
        let author = try author(may: action, .crashes)
        return (try await spaces.space(of: try principal), author)
    }

    /// The issue number in the path.
    ///
    /// - Throws: `issue-not-found` if it is not a valid number.
    var issueNumber: Int32 {
        get throws {
            guard let number = parameters.get("issue").flatMap({ Int32($0) }), number > 0 else {
                throw ServiceError(.issueNotFound)
            }
            return number
        }
    }

    /// The id of the issue in the path.
    ///
    /// - Throws: `issue-not-found`.
    func issue(_ reader: IssueReader, in space: Space) async throws -> Int64 {
        try await reader.find(try issueNumber, in: space)
    }

    /// The report in the path.
    ///
    /// - Throws: `report-not-found` if it is not a valid id.
    var report: IssueReports.Choice {
        get throws {
            guard let choice = parameters.get("report").flatMap({ IssueReports.Choice($0) }) else {
                throw ServiceError(.reportNotFound)
            }
            return choice
        }
    }
}
