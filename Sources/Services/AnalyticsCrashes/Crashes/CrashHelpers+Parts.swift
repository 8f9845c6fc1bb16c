import AnalyticsTickets
import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletPostgres
import MartletSentry

extension CrashHelpers {
    /// Uses the service's own symbols and tickets.
    init(symbols: Symbols, feedback tickets: FeedbackIntake) {
        symbolicate = { report, space in
            let answer = await symbols.symbolicate(report, in: space)
            return Symbolicated(report: answer.event, awaited: answer.missing.map(\.debugID))
        }
        record = { reports, transaction in try await symbols.awaited.record(reports, transaction) }
        feedback = { feedback, space in
            guard var fitted = Feedback(feedback) else { return true }
            do {
                do {
                    try await tickets.store(fitted, in: space)
                } catch is FileError {
                    // While file storage is unavailable, keep the text and drop the images, because all later reports
                    // would have to wait for this one.
                    fitted.files = []
                    try await tickets.store(fitted, in: space)
                }
                return true
            } catch is FeedbackRefusal {
                return false
            } catch let problem as ServiceError where problem.isCallersFault {
                // For example, the space has the maximum number of tickets. Later reports must not wait until some
                // tickets are deleted.
                return false
            }
        }
        linkFeedback = { try await tickets.attachIssues(ofReports: $0, in: $1, $2) }
    }
}

extension Feedback {
    /// Nil if the feedback has no text.
    fileprivate init?(_ feedback: DigestedFeedback) {
        let content = feedback.userFeedback
        let fitted = Feedback.fitted(
            message: content.message, name: content.name, email: content.email, userID: feedback.user?.uuidString,
            appVersion: feedback.appVersion,
            eventID: content.eventID?.uuidString, key: "sentry:" + content.id.uuidString.lowercased())
        guard var fitted else { return nil }
        fitted.files = feedback.pictures
        self = fitted
    }
}
