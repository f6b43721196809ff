/* Errors of the HTTP API. */
#include "server/api_error.h"
#include "server/json_write.h"

int api_error_set(struct api_error *e, int status, const char *code, const char *param, const char *fmt, ...)
{
    va_list ap;
    e->status = status;
    e->code = code;
    snprintf(e->param, sizeof e->param, "%.60s", param ? param : "");
    va_start(ap, fmt);
    vsnprintf(e->message, sizeof e->message, fmt, ap);
    va_end(ap);
    return -1;
}

const char *api_error_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 404:
        return "not_found_error";
    case 408:
        return "timeout_error";
    case 501:
        return "not_supported_error";
    case 503:
        return "unavailable_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

void api_error_write(struct strbuf *b, const struct api_error *e)
{
    strbuf_adds(b, "{\"error\":{\"message\":");
    json_write_text(b, e->message, strlen(e->message));
    strbuf_addf(b, ",\"type\":\"%s\",\"param\":", api_error_type(e->status));
    if (e->param[0])
        json_write_text(b, e->param, strlen(e->param));
    else
        strbuf_adds(b, "null");
    if (e->code)
        strbuf_addf(b, ",\"code\":\"%s\"}}", e->code);
    else
        strbuf_adds(b, ",\"code\":null}}");
}
