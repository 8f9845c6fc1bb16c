import Foundation
import MartletAPI
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletSentry

extension CrashHelpers {
    /// By the service's own symbols and tickets.
    init(symbols: Symbols, feedback tickets: FeedbackIntake) {
        symbolicate = { report, space in
            let answer = await symbols.symbolicate(report, in: space)
            return Symbolicated(report: answer.event, awaited: answer.missing.map(\.debugID))
        }
        note = { reports, transaction in try await symbols.awaited.note(reports, transaction) }
        feedback = { feedback, space in
            guard var fitted = Feedback(feedback) else { return true }
            do {
                do {
                    try await tickets.store(fitted, in: space)
                } catch is FileError {
                    // While files are away the words go on without pictures: all reports wait behind them.
                    fitted.files = []
                    try await tickets.store(fitted, in: space)
                }
                return true
            } catch is FeedbackRefusal {
                return false
            } catch let problem as HTTPProblem where problem.code.status < 500 {
                // Such as a space that is full of tickets: nothing behind it is to wait for somebody to delete some.
                return false
            }
        }
        joinFeedback = { try await tickets.join($0, in: $1, $2) }
    }
}

extension Feedback {
    /// Nil when nothing was said.
    fileprivate init?(_ feedback: DigestedFeedback) {
        let words = feedback.words
        let fitted = Feedback.fitted(
            message: words.message, name: words.name, email: words.email, userID: feedback.user?.uuidString, appVersion: feedback.appVersion,
            eventID: words.eventID?.uuidString, key: "sentry:" + words.id.uuidString.lowercased())
        guard var fitted else { return nil }
        fitted.files = feedback.pictures
        self = fitted
    }
}
