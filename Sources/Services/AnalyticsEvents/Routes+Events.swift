import HTTPTypes
import MartletCore
package import MartletHTTP

extension Events {
    package func addRoutes(to routes: inout RouteTable) {
        let intake = EventIntake(events: self)
        routes.section = .analytics
        // Segment's API, called with an ingest key.
        routes.on(PostEventBatch.route, PostEventBatch(intake: intake))
        routes.on(PostEventBatch.segmentMobileBatch, PostEventBatch(intake: intake))
        routes.on(PostEventMessage.route, PostEventMessage(kind: .identify, intake: intake))
        routes.on(PostEventMessage.segmentTrack, PostEventMessage(kind: .track, intake: intake))
        routes.on(PostEventMessage.segmentScreen, PostEventMessage(kind: .screen, intake: intake))
        routes.on(PostEventMessage.segmentPage, PostEventMessage(kind: .page, intake: intake))
        routes.on(PostEventMessage.segmentGroup, PostEventMessage(kind: .group, intake: intake))
        routes.on(PostEventMessage.segmentAlias, PostEventMessage(kind: .alias, intake: intake))
        // The short paths that analytics.js uses in browsers.
        routes.on(PostEventMessage.segmentBrowserIdentify, PostEventMessage(kind: .identify, intake: intake))
        routes.on(PostEventMessage.segmentBrowserTrack, PostEventMessage(kind: .track, intake: intake))
        routes.on(PostEventMessage.segmentBrowserScreen, PostEventMessage(kind: .screen, intake: intake))
        routes.on(PostEventMessage.segmentBrowserPage, PostEventMessage(kind: .page, intake: intake))
        routes.on(PostEventMessage.segmentBrowserGroup, PostEventMessage(kind: .group, intake: intake))
        routes.on(PostEventMessage.segmentBrowserAlias, PostEventMessage(kind: .alias, intake: intake))
        routes.on(ReadProjectSettings.route, ReadProjectSettings(events: self))
        // For the app itself.
        routes.on(PostEventBatch.sendEvents, PostEventBatch(intake: intake))
        routes.on(OptOutEndpoint.route, OptOutEndpoint(action: .read, events: self))
        routes.on(OptOutEndpoint.optOut, OptOutEndpoint(action: .optOut, events: self))
        routes.on(OptOutEndpoint.optIn, OptOutEndpoint(action: .optIn, events: self))
        routes.on(PostTBAnalyticsEvent.route, PostTBAnalyticsEvent(intake: intake))
        routes.on(ReadTBAnalyticsEvents.route, ReadTBAnalyticsEvents(events: self))
        // For staff and the app's own server.
        routes.on(ReadSettings.route, ReadSettings(events: self))
        routes.on(ChangeSettings.route, ChangeSettings(events: self))
    }
}
