import Foundation
import MartletPostgres
import MartletSentry

extension CrashHelpers {
    /// By the service's own symbols and tickets.
    init(symbols: Symbols, feedback tickets: FeedbackIntake) {
        symbolicate = { report, space in
            let answer = await symbols.symbolicate(report, in: space)
            guard !answer.missing.isEmpty else { return Symbolicated(report: answer.event) }
            return Symbolicated(report: answer.event) { eventID, space, transaction in
                try await symbols.note(answer.missing, of: eventID, in: space, transaction)
            }
        }
        feedback = { feedback, space in
            guard let fitted = Feedback(feedback) else { return }
            do {
                try await tickets.store(fitted, in: space)
            } catch is FeedbackRefusal {
                // What is refused now is refused again.
            }
        }
    }
}

extension Feedback {
    /// Nil when nothing was said.
    fileprivate init?(_ feedback: UserFeedback) {
        let fitted = Feedback.fitted(
            message: feedback.message, name: feedback.name, email: feedback.email, eventID: feedback.eventID?.uuidString,
            key: "sentry:" + feedback.id.uuidString.lowercased())
        guard let fitted else { return nil }
        self = fitted
    }
}
