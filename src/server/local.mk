noinst_LIBRARIES += libserver.a
libserver_a_SOURCES = \
  %D%/draft.c \
  %D%/draft.h \
  %D%/draft_model.c \
  %D%/draft_mtp.c \
  %D%/draft_mtp.h \
  %D%/draft_model.h \
  %D%/loop.c \
  %D%/loop.h \
  %D%/loop_internal.h \
  %D%/loop_pass.c \
  %D%/loop_stats.c \
  %D%/loop_token.c \
  %D%/replay.c \
  %D%/replay.h \
  %D%/answer.c \
  %D%/answer.h \
  %D%/api_error.c \
  %D%/api_error.h \
  %D%/api_fields.c \
  %D%/api_fields.h \
  %D%/api_messages.c \
  %D%/api_reply.c \
  %D%/api_reply.h \
  %D%/api_request.c \
  %D%/api_request.h \
  %D%/http_address.c \
  %D%/http_server.h \
  %D%/json_write.c \
  %D%/json_write.h \
  %D%/metrics_page.c \
  %D%/metrics_page.h \
  %D%/prompt.c \
  %D%/prompt.h
if MICROHTTPD
libserver_a_SOURCES += \
  %D%/http_call.c \
  %D%/http_helper.c \
  %D%/http_internal.h \
  %D%/http_peers.c \
  %D%/http_endpoints.c \
  %D%/http_server.c
else
libserver_a_SOURCES += %D%/http_unavailable.c
endif
